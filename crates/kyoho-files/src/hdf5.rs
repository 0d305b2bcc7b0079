//! Files in HDF5: their groups, attributes and datasets of numbers.

use std::collections::HashMap;

use hdf5_pure::{AttrValue, File, FormatError};
use kyoho_core::memory;

use crate::{Error, Result};

/// A file whose structure was read.
pub struct Hdf5 {
    file: File,
    /// The number of bytes.
    length: usize,
}

/// Returns an error of HDF5 in words.
fn described(error: hdf5_pure::Error) -> String {
    match error {
        hdf5_pure::Error::Format(FormatError::InvalidLayoutVersion(5)) => {
            "it is in the newest format of HDF5 2.0; allowed: those up to HDF5 1.14, which \
             `h5repack --high=v114 FILE NEW` writes"
                .into()
        }
        hdf5_pure::Error::Format(FormatError::UnsupportedVirtualLayout | FormatError::UnsupportedExternalStorage) => {
            "its numbers are in other files; allowed: files that have their numbers".into()
        }
        other => other.to_string(),
    }
}

/// Returns what has a path, `None` where nothing of its kind has it. That it cannot be read is an error.
fn there<T>(path: &str, outcome: std::result::Result<T, hdf5_pure::Error>) -> Result<Option<T>> {
    use hdf5_pure::Error::{Format, NotADataset, NotAGroup};
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Format(FormatError::PathNotFound(_)) | NotADataset(_) | NotAGroup(_)) => Ok(None),
        Err(error) => Err(Error::file(format!("'/{path}' cannot be read: {}", described(error)))),
    }
}

/// No filter makes its output longer than this many times its input: deflate's worst case is 1032.
const MOST_INFLATED: u64 = 1040;

impl Hdf5 {
    /// Reads the structure of a file.
    pub fn of(content: Vec<u8>) -> Result<Hdf5> {
        let length = content.len();
        let file = File::from_bytes(content).map_err(Error::file)?;
        let told = file.superblock().eof_address;
        if told > length as u64 {
            return Err(Error::file(format!("it has {length} bytes of {told}: it was truncated")));
        }
        Ok(Hdf5 { file, length })
    }

    /// Returns the names of the groups in a group, none if it is not there; that of the file itself is empty.
    pub fn groups(&self, path: &str) -> Result<Vec<String>> {
        let mut names = there(path, self.group(path).and_then(|group| group.groups()))?.unwrap_or_default();
        names.sort_unstable();
        Ok(names)
    }

    /// Whether there is a group.
    pub fn has_group(&self, path: &str) -> Result<bool> {
        there(path, self.file.group(path)).map(|group| group.is_some())
    }

    /// Whether there is a dataset.
    pub fn has_dataset(&self, path: &str) -> Result<bool> {
        there(path, self.file.dataset(path)).map(|dataset| dataset.is_some())
    }

    /// Returns the first of some datasets that is there.
    pub fn first_dataset(&self, paths: impl IntoIterator<Item = String>) -> Result<Option<String>> {
        for path in paths {
            if self.has_dataset(&path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    fn group(&self, path: &str) -> std::result::Result<hdf5_pure::Group, hdf5_pure::Error> {
        if path.is_empty() { Ok(self.file.root()) } else { self.file.group(path) }
    }

    /// Returns the groups and datasets of the file in words.
    pub(crate) fn list(&self) -> String {
        let list = |what: &str, names: std::result::Result<Vec<String>, hdf5_pure::Error>| match names {
            Err(error) => format!("{what}s that cannot be listed ({})", described(error)),
            Ok(names) if names.is_empty() => format!("no {what}s"),
            Ok(mut names) => {
                names.sort_unstable();
                match names.len() {
                    1..=8 => format!("the {what}s {}", names.join(", ")),
                    count => format!("the {what}s {}, ... ({count} in all)", names[..8].join(", ")),
                }
            }
        };
        let root = self.file.root();
        format!("{} and {}", list("group", root.groups()), list("dataset", root.datasets()))
    }

    /// Returns the attributes of a group or a dataset; those of what is not there are none.
    pub fn attributes(&self, path: &str) -> Result<HashMap<String, AttrValue>> {
        if let Some(found) = there(path, self.group(path).and_then(|group| group.attrs()))? {
            return Ok(found);
        }
        let of_dataset = self.file.dataset(path).and_then(|dataset| dataset.attrs());
        Ok(there(path, of_dataset)?.unwrap_or_default())
    }

    /// Returns the numbers of an attribute, if it is there and has some.
    pub fn attribute_numbers(&self, path: &str, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.attributes(path)?.remove(name) else { return Ok(None) };
        let integers = || value.to_i64s().map(|all| all.into_iter().map(|number| number as f64).collect());
        Ok(value.to_f64s().or_else(integers).or_else(|| value.as_u64().map(|number| vec![number as f64])))
    }

    /// Returns the only number of an attribute.
    pub fn attribute_number(&self, path: &str, name: &str) -> Result<Option<f64>> {
        let numbers = self.attribute_numbers(path, name)?;
        Ok(numbers.and_then(|numbers| <[f64; 1]>::try_from(numbers).ok()).map(|[number]| number))
    }

    /// Returns the first of the numbers of some attributes, each of a group with a name.
    pub fn first_attribute(&self, attributes: &[[&str; 2]]) -> Result<Option<f64>> {
        for [group, name] in attributes {
            if let Some(number) = self.attribute_number(group, name)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Returns the text of an attribute.
    pub fn attribute_text(&self, path: &str, name: &str) -> Result<Option<String>> {
        Ok(self.attributes(path)?.get(name).and_then(|text| text.as_str().map(String::from)))
    }

    /// Returns the rows of a dataset of finite numbers. If a count is given, there must be as many rows.
    pub fn rows<const N: usize>(&self, name: &str, count: Option<usize>) -> Result<Vec<[f64; N]>> {
        let numbers = self.numbers(name, N, count)?;
        Ok(memory::collected(numbers.as_chunks().0.iter().copied(), "the rows of a dataset")?)
    }

    /// Returns the numbers of a dataset with this many in a row, as [`Hdf5::rows`] does.
    pub fn numbers(&self, name: &str, width: usize, count: Option<usize>) -> Result<Vec<f64>> {
        let numbers = self.any_numbers(name, width, count)?;
        let Some(place) = numbers.iter().position(|number| !number.is_finite()) else { return Ok(numbers) };
        let (number, row) = (numbers[place], place / width + 1);
        Err(Error::file(format!("the dataset '{name}': {number} in row {row}; allowed: finite numbers")))
    }

    /// Returns the numbers of a dataset, which may be infinite or no numbers.
    pub fn any_numbers(&self, name: &str, width: usize, count: Option<usize>) -> Result<Vec<f64>> {
        let failed = |reason: String| Error::file(format!("the dataset '{name}': {reason}"));
        let dataset = self.file.dataset(name).map_err(|error| failed(described(error)))?;
        let shape = dataset.shape().map_err(|error| failed(described(error)))?;
        let (rows, others) = shape.split_first().map_or((0, &[][..]), |(rows, others)| (*rows, others));
        let of_row = [width as u64];
        let expected = if width == 1 { &[][..] } else { &of_row[..] };
        if others != expected || count.is_some_and(|count| count as u64 != rows) || shape.is_empty() {
            let count = count.map_or("N".into(), |count| count.to_string());
            let allowed = if width == 1 { format!("[{count}]") } else { format!("[{count}, {width}]") };
            return Err(failed(format!("its shape is {shape:?}; allowed: {allowed}")));
        }
        // Rows that the file cannot have are not asked for.
        let size = dataset.element_size().map_err(|error| failed(described(error)))?.max(1);
        let bytes = rows.saturating_mul(width as u64).saturating_mul(size);
        if bytes > (self.length as u64).saturating_mul(MOST_INFLATED) {
            let reason = format!("it has {rows} rows, more than a file of {} bytes can have", self.length);
            return Err(failed(reason));
        }
        drop(memory::room::<f64>(rows as usize * width, "the numbers of a dataset")?);
        let numbers = dataset.read_f64().map_err(|error| failed(described(error)))?;
        if numbers.len() as u64 != rows * width as u64 {
            return Err(failed(format!("it has {} numbers in place of {rows} times {width}", numbers.len())));
        }
        Ok(numbers)
    }
}
