//! The lines of a walk: a headline, numbered steps, remarks under them.

/// A walk in the making.
#[derive(Debug)]
pub struct Board {
    lines: Vec<String>,
    steps: usize,
}

impl Board {
    /// A board with its headline.
    pub fn new(headline: &str) -> Board {
        Board {
            lines: vec![headline.to_owned(), String::new()],
            steps: 0,
        }
    }

    /// The next numbered step.
    pub fn step(&mut self, text: String) {
        self.steps += 1;
        self.lines.push(format!("{}. {text}", self.steps));
    }

    /// A remark under the last step.
    pub fn note(&mut self, text: String) {
        self.lines.push(format!("   {text}"));
    }

    /// All lines.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}
