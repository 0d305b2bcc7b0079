//! Fields and laws in snapshots.

use kyoho_integrators::fields::Centre;

/// A field or a law as the user gave it, which a snapshot keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct TextSetting {
    /// The built-in name or the text.
    pub given: String,
    /// The numbers of its parameters, in their order.
    pub numbers: Vec<f64>,
    /// The centre of a field, if it moves.
    pub centre: Option<Centre>,
}

impl TextSetting {
    /// Returns the name of the setting of a kind, `field` or `law`, at a place.
    pub fn name(kind: &str, place: usize) -> String {
        format!("{kind}-{}", place + 1)
    }

    /// Returns it in a line: its numbers in brackets, in braces the number of the nodes of its
    /// centre and their numbers, if it moves, and the text without ends of lines.
    pub fn line(&self) -> String {
        let joined = |numbers: &mut dyn Iterator<Item = f64>| {
            numbers.map(|number| format!("{number:e}")).collect::<Vec<_>>().join(" ")
        };
        let text = self.given.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
        let centre = self
            .centre
            .as_ref()
            .map_or(String::new(), |centre| format!("{{{} {}}} ", centre.nodes(), joined(&mut centre.numbers())));
        format!("[{}] {centre}{text}", joined(&mut self.numbers.iter().copied()))
    }

    /// Reads what [`TextSetting::line`] returns.
    pub fn parse(line: &str) -> Option<TextSetting> {
        let (numbers, text) = line.strip_prefix('[')?.split_once("] ")?;
        let parsed = |numbers: &str| numbers.split_whitespace().map(|number| number.parse().ok()).collect();
        let numbers: Option<Vec<f64>> = parsed(numbers);
        let (centre, text) = match text.strip_prefix('{') {
            None => (None, text),
            Some(rest) => {
                let (centre, text) = rest.split_once("} ")?;
                let (nodes, centre) = centre.split_once(' ')?;
                let centre: Option<Vec<f64>> = parsed(centre);
                (Some(Centre::from_numbers(&centre?, nodes.parse().ok()?).ok()?), text)
            }
        };
        let mut given = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            given.push(match letter {
                '\\' => match letters.next()? {
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                },
                other => other,
            });
        }
        Some(TextSetting { given, numbers: numbers?, centre })
    }
}
