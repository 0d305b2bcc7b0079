//! The bytes of a file as what they are: a text or HDF5.

use crate::hdf5::Hdf5;
use crate::names::OTHERS;
use crate::{Error, Result, formats};

/// The mark at the beginning of a text that some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The content of a file.
pub enum Content {
    /// A text.
    Text(String),
    /// A file in HDF5.
    Hdf5(Hdf5),
}

impl Content {
    /// Returns the content of a file with these bytes.
    pub fn of(mut content: Vec<u8>) -> Result<Content> {
        if is_hdf5(&content) {
            return Hdf5::of(content).map(Content::Hdf5);
        }
        if content.starts_with(BYTE_ORDER_MARK) {
            content.drain(..BYTE_ORDER_MARK.len());
        }
        if let Some((_, what)) = OTHERS.iter().find(|(beginning, _)| content.starts_with(beginning)) {
            return Err(Error::file(format!("it looks like {what}; allowed: {}", formats())));
        }
        text(content).map(Content::Text)
    }

    /// Returns the text of one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(text),
            Content::Hdf5(_) => None,
        }
    }

    /// Returns the structure of a file in HDF5.
    pub fn as_hdf5(&self) -> Option<&Hdf5> {
        match self {
            Content::Text(_) => None,
            Content::Hdf5(file) => Some(file),
        }
    }

    /// Returns what is in a file of no known format.
    pub(crate) fn found(&self) -> String {
        match self {
            Content::Text(_) => "it is a text".into(),
            Content::Hdf5(file) => format!("it is HDF5 with {}", file.list()),
        }
    }
}

/// Whether bytes are a file in HDF5.
pub fn is_hdf5(content: &[u8]) -> bool {
    hdf5_pure::is_hdf5_bytes(content)
}

/// Returns the text of a file's bytes. Where a line ends with a carriage return alone, as in files of
/// old systems, it ends with a line feed then.
pub fn text(mut content: Vec<u8>) -> Result<String> {
    if content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff") {
        return Err(Error::file("it is a text in UTF-16; allowed: UTF-8"));
    }
    for place in 0..content.len() {
        if content[place] == b'\r' && content.get(place + 1) != Some(&b'\n') {
            content[place] = b'\n';
        }
    }
    String::from_utf8(content).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::Line { line, reason: "it has a byte that is not text; allowed: UTF-8".into() }
    })
}
