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

    /// Returns the names of the groups in a group; that of the file itself is empty.
    pub fn groups(&self, path: &str) -> Vec<String> {
        let group = if path.is_empty() { Ok(self.file.root()) } else { self.file.group(path) };
        let mut names = group.and_then(|group| group.groups()).unwrap_or_default();
        names.sort_unstable();
        names
    }

    /// Whether there is a dataset.
    pub fn has_dataset(&self, path: &str) -> bool {
        self.file.dataset(path).is_ok()
    }

    /// Returns the groups and datasets of the file in words.
    pub(crate) fn list(&self) -> String {
        let list = |what: &str, names: Vec<String>| match names.len() {
            0 => format!("no {what}s"),
            1..=8 => format!("the {what}s {}", names.join(", ")),
            count => format!("the {what}s {}, ... ({count} in all)", names[..8].join(", ")),
        };
        let mut datasets = self.file.root().datasets().unwrap_or_default();
        datasets.sort_unstable();
        format!("{} and {}", list("group", self.groups("")), list("dataset", datasets))
    }

    /// Returns the attributes of a group or a dataset; those of what is not there are none.
    pub fn attributes(&self, path: &str) -> HashMap<String, AttrValue> {
        let of_group = if path.is_empty() { Ok(self.file.root()) } else { self.file.group(path) };
        let of_dataset = || self.file.dataset(path).and_then(|dataset| dataset.attrs());
        of_group.and_then(|group| group.attrs()).or_else(|_| of_dataset()).unwrap_or_default()
    }

    /// Returns the numbers of an attribute, if it is there and has some.
    pub fn attribute_numbers(&self, path: &str, name: &str) -> Option<Vec<f64>> {
        let value = self.attributes(path).remove(name)?;
        let integers = || value.to_i64s().map(|all| all.into_iter().map(|number| number as f64).collect());
        value.to_f64s().or_else(integers).or_else(|| value.as_u64().map(|number| vec![number as f64]))
    }

    /// Returns the only number of an attribute.
    pub fn attribute_number(&self, path: &str, name: &str) -> Option<f64> {
        self.attribute_numbers(path, name).and_then(|numbers| <[f64; 1]>::try_from(numbers).ok()).map(|[number]| number)
    }

    /// Returns the text of an attribute.
    pub fn attribute_text(&self, path: &str, name: &str) -> Option<String> {
        self.attributes(path).get(name)?.as_str().map(String::from)
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
