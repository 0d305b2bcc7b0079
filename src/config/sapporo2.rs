//! The file `sapporo2.config`.

use std::path::Path;

use crate::error::{Error, Result};

use super::Wanted;

/// Reads Sapporo2's file: a number of devices (0: all; -n: any n of them; n: those with the numbers on the next n
/// lines). What follows a number on its line is a comment; an empty file means 0.
pub fn read(path: &Path) -> Result<Option<Wanted>> {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::BadOption {
                name: path.display().to_string(),
                value: error.to_string(),
                allowed: "a file that can be read, or none".into(),
            });
        }
    };
    let mut lines = text.lines().enumerate();
    let mut next = |allowed: &str| -> Result<i64> {
        let (number, line) = lines.next().unwrap_or((text.lines().count(), ""));
        let word: String = line
            .trim_start()
            .char_indices()
            .take_while(|(place, letter)| letter.is_ascii_digit() || (*place == 0 && matches!(letter, '-' | '+')))
            .map(|(_, letter)| letter)
            .collect();
        word.parse().map_err(|_| Error::BadOption {
            name: format!("{} line {}", path.display(), number + 1),
            value: line.into(),
            allowed: allowed.into(),
        })
    };
    if text.trim().is_empty() {
        return Ok(Some(Wanted::All));
    }
    let count = next("the number of devices: 0 for all, -n for any n, n for the n that the next lines name")?;
    match count {
        0 => Ok(Some(Wanted::All)),
        ..0 => Ok(Some(Wanted::Count(count.unsigned_abs() as usize))),
        _ => {
            let list: Result<Vec<usize>> = (0..count)
                .map(|_| {
                    let device = next("the number of a device, 0 or more")?;
                    usize::try_from(device).map_err(|_| Error::BadOption {
                        name: path.display().to_string(),
                        value: device.to_string(),
                        allowed: "numbers of devices, 0 or more".into(),
                    })
                })
                .collect();
            Ok(Some(Wanted::List(list?)))
        }
    }
}
