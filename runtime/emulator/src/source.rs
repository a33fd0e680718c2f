//! What `.file` and `.loc` say: the lines that a compiler made the lines of PTX from.

use std::collections::BTreeMap;

/// Where the lines of a text come from, by its own directives.
///
/// A `.loc` holds for all that follows it in its function; line 0 is no line. Of code that was
/// inlined it is the line of the callee.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLines {
    /// Names of files by their numbers.
    files: BTreeMap<u64, String>,
    /// Lines of the text at which another source begins, in order: its file and line, or none.
    starts: Vec<(u32, Option<(u64, u32)>)>,
}

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine<'s> {
    /// The file as `.file` names it.
    pub file: &'s str,
    /// The line, from 1.
    pub line: u32,
}

impl SourceLines {
    /// What a line of the text comes from; nothing before the first `.loc` of its function.
    ///
    /// ```
    /// let text = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"k.yaml\"\n
    ///     .entry k() {\n.loc 1 7 0\nmembar.cta;\n.loc 1 0 0\nret;\n}";
    /// let module = tilewright_emulator::Module::parse(text)?;
    /// let at = |line| module.sources().at(line).map(|source| (source.file, source.line));
    /// assert_eq!([at(6), at(8), at(10)], [None, Some(("k.yaml", 7)), None]);
    /// # Ok::<(), tilewright_emulator::ParseErrors>(())
    /// ```
    pub fn at(&self, line: u32) -> Option<SourceLine<'_>> {
        let behind = self.starts.partition_point(|(start, _)| *start <= line);
        let (_, source) = self.starts.get(behind.checked_sub(1)?)?;
        let (file, line) = (*source)?;
        Some(SourceLine {
            file: self.files.get(&file)?,
            line,
        })
    }

    /// Notes a `.file`.
    pub(crate) fn name(&mut self, number: u64, name: &str) {
        self.files.insert(number, name.to_owned());
    }

    /// Notes a `.loc` at a line of the text.
    pub(crate) fn begin(&mut self, at: u32, file: u64, line: u64) {
        let line = u32::try_from(line).ok().filter(|line| *line > 0);
        self.put(at, line.map(|line| (file, line)));
    }

    /// Notes that a function begins or ends there.
    pub(crate) fn reset(&mut self, at: u32) {
        if !self.starts.is_empty() {
            self.put(at, None);
        }
    }

    fn put(&mut self, at: u32, source: Option<(u64, u32)>) {
        match self.starts.last_mut() {
            Some((_, last)) if *last == source => {}
            Some((start, last)) if *start == at => *last = source,
            _ => self.starts.push((at, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::Module;

    const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

    #[test]
    fn a_loc_holds_to_the_end_of_its_function() {
        let text = format!(
            "{HEAD}.file 1 \"/home/of/gemm.yaml\"\n.file 2 \"other.cu\", 7, 9\n\
             .visible .entry one() {{\nmembar.cta;\n.loc 1 7 3\nmembar.cta;\nmembar.cta;\n\
             .loc 2 9 1, function_name one, inlined_at 1 7 3\nmembar.cta; .loc 1 8 0\n\
             membar.cta;\nret;\n}}\n.visible .entry two() {{\nret;\n}}\n.file 3 \"late\"\n"
        );
        let module = Module::parse(&text).unwrap();
        let sources = module.sources();
        let at = |line| sources.at(line).map(|source| (source.file, source.line));
        let yaml = |line| Some(("/home/of/gemm.yaml", line));
        assert_eq!([at(1), at(6), at(7)], [None; 3]);
        assert_eq!([at(9), at(10)], [yaml(7); 2]);
        assert_eq!(at(11), Some(("other.cu", 9)));
        assert_eq!([at(13), at(14)], [yaml(8); 2]);
        assert_eq!([at(16), at(17), at(100)], [None; 3]);
    }

    #[test]
    fn what_names_no_line_and_no_file_is_no_source() {
        let unnamed = format!("{HEAD}.loc 1 5 0\n.entry k() {{\n.loc 1 5 0\nret;\n}}\n");
        assert_eq!(Module::parse(&unnamed).unwrap().sources().at(7), None);
        let large = format!("{HEAD}.file 1 \"x\"\n.entry k() {{\n.loc 1 4294967296 0\nret;\n}}\n");
        assert_eq!(Module::parse(&large).unwrap().sources().at(7), None);
        assert_eq!(Module::parse(HEAD).unwrap().sources().at(1), None);
        let wrong = format!("{HEAD}.entry k() {{\n.loc 1 x\nret;\n}}\n");
        assert!(Module::parse(&wrong).is_err());
    }
}
