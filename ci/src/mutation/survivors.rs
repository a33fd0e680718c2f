//! Mutants that nothing tells from the kernel, and why that is no hole.
//!
//! In: `ci/data/mutants/survivors.txt`, a rule a line: `subject | mutant | instruction | reason`,
//! the first three with `*` for any text; several subjects stand between commas. A mutant is its
//! id, or its id with `#2` for the line, the second instruction of the kernel that computes the
//! same. The instruction is its text or what it computes. Out: the reason of a survivor, or
//! nothing.

use super::record::Line;

/// Why some survivors are equal to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    subjects: Vec<String>,
    mutant: String,
    instruction: String,
    /// The reason.
    pub reason: String,
}

/// All rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(pub Vec<Rule>);

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let subjects = self.subjects.join(", ");
        write!(
            f,
            "{subjects} | {} | {} | {}",
            self.mutant, self.instruction, self.reason
        )
    }
}

impl Rules {
    /// Reads the rules; empty lines and lines with `#` at their start say nothing.
    ///
    /// # Errors
    /// The first line that has not four parts.
    pub fn parse(text: &str) -> Result<Rules, String> {
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.splitn(4, " | ").map(str::trim).collect();
            let [subject, mutant, instruction, reason] = parts[..] else {
                return Err(format!(
                    "line {}: expected `subject | mutant | instruction | reason`",
                    number + 1
                ));
            };
            rules.push(Rule {
                subjects: subject.split(", ").map(str::to_owned).collect(),
                mutant: mutant.to_owned(),
                instruction: instruction.to_owned(),
                reason: reason.to_owned(),
            });
        }
        Ok(Rules(rules))
    }

    /// The first rule that speaks of a survivor, by its place in the list.
    pub fn find(&self, line: &Line) -> Option<usize> {
        let (_, operator) = line.mutant.split_once(':').unwrap_or_default();
        let counted = format!("#{}:{operator}", line.nth);
        let speaks = |rule: &Rule| {
            let mut subjects = rule.subjects.iter();
            subjects.any(|subject| matches(subject, &line.subject))
                && (matches(&rule.mutant, &line.mutant) || matches(&rule.mutant, &counted))
                && (matches(&rule.instruction, &line.was)
                    || matches(&rule.instruction, &line.meaning))
        };
        self.0.iter().position(speaks)
    }
}

/// Whether a pattern with `*` for any text matches all of a text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(head) else {
        return false;
    };
    let ends = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
    ends.into_iter().any(|at| matches(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        assert!(matches("gemm_*@*_s2*", "gemm_f16_tn@128x128x64_s2-ad97ad"));
        assert!(matches("*", "") && matches("a*", "a") && !matches("a*b", "abc"));
    }

    #[test]
    fn rules_have_four_parts() {
        let rules = Rules::parse("# head\n\n* | *:duplicate | bar.sync *; | it only orders\n");
        let rules = rules.unwrap_or_default();
        let line = |mutant: &str| Line {
            subject: "k".into(),
            ptx: String::new(),
            mutant: mutant.into(),
            was: "bar.sync 0;".into(),
            meaning: "bar.sync 0".into(),
            nth: 2,
            is: String::new(),
            fate: "equal".into(),
        };
        assert_eq!(rules.find(&line("7:duplicate")), Some(0));
        assert_eq!(rules.find(&line("7:drop")), None);
        let second = Rules::parse("* | #2:drop | bar.sync 0 | it only orders").unwrap_or_default();
        assert_eq!(second.find(&line("7:drop")), Some(0));
        assert_eq!(second.find(&line("7:duplicate")), None);
        let others = Rules::parse("j*, kk, k | * | * | why").unwrap_or_default();
        assert_eq!(others.find(&line("7:drop")), Some(0));
        assert!(Rules::parse("a | b | c").is_err());
    }
}
