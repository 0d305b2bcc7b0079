//! The file `sapporo2.config`.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use kyoho_core::{Error, Result};

use super::Wanted;

/// The most bytes of a file that is read. They have room for more devices than any machine has.
const LONGEST: u64 = 64 << 10;

/// Reads Sapporo2's file. Its first line has a number of devices: 0 for all, -n for any n of them,
/// n for the devices with the numbers on the next n lines. Text after a number on its line is a
/// comment. An empty file means 0.
pub fn read(path: &Path) -> Result<Option<Wanted>> {
    let Some(text) = text(path)? else { return Ok(None) };
    if text.trim().is_empty() {
        return Ok(Some(Wanted::All));
    }
    let mut lines = text.lines();
    let mut number = 0;
    let mut next = |allowed: &str| -> Result<i64> {
        number += 1;
        let line = lines.next().unwrap_or("");
        let word: String = line
            .trim_start()
            .char_indices()
            .take_while(|(place, letter)| letter.is_ascii_digit() || (*place == 0 && matches!(letter, '-' | '+')))
            .map(|(_, letter)| letter)
            .collect();
        word.parse().map_err(|_| bad(&format!("{} line {number}", path.display()), line, allowed))
    };
    let count = next("the number of devices: 0 for all, -n for any n, n for the n that the next lines name")?;
    match count {
        0 => Ok(Some(Wanted::All)),
        ..0 => Ok(Some(Wanted::Count(count.unsigned_abs() as usize))),
        _ => {
            let list: Result<Vec<usize>> = (0..count)
                .map(|_| {
                    let device = next("the number of a device, 0 or more")?;
                    let allowed = "numbers of devices, 0 or more";
                    usize::try_from(device).map_err(|_| bad(&path.display().to_string(), &device.to_string(), allowed))
                })
                .collect();
            Ok(Some(Wanted::List(list?)))
        }
    }
}

/// Returns the text of the file without a byte-order mark. Anything but a short regular file is an
/// error, because reading it might never end.
fn text(path: &Path) -> Result<Option<String>> {
    let refuse = |value: &str, allowed: &str| Err(bad(&path.display().to_string(), value, allowed));
    let irregular = || refuse("no regular file", "a regular file, or none");
    let unreadable = |error: std::io::Error| match Error::no_descriptor(path, &error) {
        Some(full) => Err(full),
        None => refuse(&error.to_string(), "a file that can be read, or none"),
    };
    // Opening must not wait, as it would for a FIFO with nobody at its other end.
    let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return irregular(),
        Err(error) => return unreadable(error),
    };
    let found = match file.metadata() {
        Ok(found) => found,
        Err(error) => return unreadable(error),
    };
    if !found.is_file() {
        return irregular();
    }
    if found.len() > LONGEST {
        return refuse(&format!("{} bytes long", found.len()), &format!("up to {LONGEST} bytes"));
    }
    let mut bytes = Vec::new();
    if let Err(error) = file.take(LONGEST).read_to_end(&mut bytes) {
        return unreadable(error);
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return refuse("text in UTF-16", "text in ASCII or UTF-8");
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()))
}

fn bad(name: &str, value: &str, allowed: &str) -> Error {
    Error::BadOption { name: name.into(), value: value.into(), allowed: allowed.into() }
}
