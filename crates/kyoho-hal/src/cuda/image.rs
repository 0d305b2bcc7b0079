//! Compiled code: packs of images for kinds of GPUs.
//!
//! `kernels/generate` makes the packs and lists the GPUs that have an image of their own.

use std::fmt;
use std::io::{self, Read};

use lzma_rust2::Lzma2Reader;

use crate::gpu::{Code, Images};
use kyoho_core::{Error, Result};

/// A GPU's compute capability: its major and its minor number.
type Compute = (i32, i32);

/// Code that the driver can load.
pub struct Image {
    bytes: Vec<u8>,
    target: Target,
}

impl Image {
    /// Returns a cubin, or the source of a PTX with a NUL at its end.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether its kernels themselves wait for those before them, so that they may be started while
    /// these still run. This is `AFTER_EARLIER_KERNELS` in `kernels/prelude_cuda.h`. The PTX is for
    /// GPUs that cannot do so.
    pub fn waits(&self) -> bool {
        matches!(self.target, Target::Cubin((major, _)) if major >= 9)
    }
}

/// The GPUs that an image was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// GPUs of this compute capability, or of the same major and a higher minor number.
    Cubin(Compute),
    /// Any GPU. The driver compiles the code for it.
    Ptx,
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cubin((major, minor)) => write!(formatter, "a cubin for {major}.{minor}"),
            Target::Ptx => formatter.write_str("PTX, which the driver compiles"),
        }
    }
}

/// Returns the image of some code that suits a GPU best.
pub fn of(code: &Code, compute: Compute) -> Result<Image> {
    let (packs, unit) = match code.images {
        Images::Packed { packs, unit } => (packs, unit),
        Images::Ptx(text) => {
            let bytes = [text.as_bytes(), b"\0"].concat();
            return Ok(Image { bytes, target: Target::Ptx });
        }
    };
    let of_unit = |what: &str| Error::Internal { what: format!("GPU code {unit}: {what}") };
    let mut tables = packs.iter().filter_map(|pack| table(pack));
    let table = tables.find(|table| table.entries.iter().any(|entry| entry.unit == unit));
    let table = table.ok_or_else(|| of_unit("no pack has it"))?;
    let chosen = choose(&table.entries, unit, compute).ok_or_else(|| of_unit("its pack has no PTX"))?;
    let bytes = extract(&table, chosen).map_err(|error| of_unit(&error.to_string()))?;
    let ((major, minor), target) = (compute, table.entries[chosen].target);
    log::debug!("GPU code of {} for compute capability {major}.{minor}: {target}", code.name);
    Ok(Image { bytes, target })
}

/// Returns the names of the units in some packs, sorted.
#[cfg(any(test, feature = "testing"))]
pub fn units(packs: &[&[u8]]) -> Vec<String> {
    let entries = packs.iter().flat_map(|pack| table(pack).unwrap().entries);
    let names: std::collections::BTreeSet<String> = entries.map(|entry| entry.unit.to_owned()).collect();
    names.into_iter().collect()
}

// The layout that `pack` in kernels/generate writes: MAGIC, the number of images, the unit, target
// and length of each, and the images as one stream of LZMA2 with this dictionary.
const MAGIC: &[u8] = b"KyoP";
const LONGEST_NAME: usize = 32;
const DICTIONARY: u32 = 1 << 22;

/// GPUs soldered to boards. NVIDIA does not promise that they run cubins made for cards of the same
/// major number.
const SOLDERED: [Compute; 2] = [(8, 7), (10, 1)];

struct Entry<'a> {
    unit: &'a str,
    target: Target,
    length: usize,
}

/// A pack's images, and where they stand.
struct Table<'a> {
    entries: Vec<Entry<'a>>,
    stream: &'a [u8],
}

/// Reads the table of a pack. There is none in other files.
fn table(pack: &[u8]) -> Option<Table<'_>> {
    let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes) as usize;
    let (count, mut rest) = pack.strip_prefix(MAGIC)?.split_first_chunk()?;
    let mut entries = Vec::new();
    for _ in 0..number(count) {
        let (name, after) = rest.split_first_chunk::<LONGEST_NAME>()?;
        let (target, after) = after.split_first_chunk()?;
        let (length, after) = after.split_first_chunk()?;
        let target = match number(target) as i32 {
            0 => Target::Ptx,
            number => Target::Cubin((number / 10, number % 10)),
        };
        let unit = std::str::from_utf8(name).ok()?.trim_end_matches('\0');
        entries.push(Entry { unit, target, length: number(length) });
        rest = after;
    }
    Some(Table { entries, stream: rest })
}

/// Returns the place of the image of a unit that suits a GPU best.
fn choose(entries: &[Entry<'_>], unit: &str, compute: Compute) -> Option<usize> {
    let minor = |entry: &Entry<'_>| match entry.target {
        Target::Cubin((major, minor)) if major == compute.0 && minor <= compute.1 && !SOLDERED.contains(&compute) => {
            Some(minor)
        }
        _ => None,
    };
    let of_unit = || entries.iter().enumerate().filter(|(_, entry)| entry.unit == unit);
    let cubins = of_unit().filter_map(|(place, entry)| Some((minor(entry)?, place)));
    let ptx = || of_unit().find(|(_, entry)| entry.target == Target::Ptx);
    cubins.max().map(|(_, place)| place).or_else(|| ptx().map(|(place, _)| place))
}

fn extract(table: &Table<'_>, chosen: usize) -> io::Result<Vec<u8>> {
    let mut reader = Lzma2Reader::new(table.stream, DICTIONARY, None);
    let before: usize = table.entries[..chosen].iter().map(|entry| entry.length).sum();
    io::copy(&mut reader.by_ref().take(before as u64), &mut io::sink())?;
    let mut bytes = vec![0; table.entries[chosen].length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the packs that the library embeds, and that of a test.
    fn packs() -> Vec<Vec<u8>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/generated");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let packs = paths.filter(|path| path.extension().is_some_and(|end| end == "pack"));
        packs.map(|path| std::fs::read(path).unwrap()).collect()
    }

    #[test]
    fn each_gpu_gets_the_image_that_suits_it_best() {
        let cases = [
            ((8, 0), Target::Cubin((8, 0))),
            ((8, 6), Target::Cubin((8, 6))),
            ((8, 8), Target::Cubin((8, 6))),
            ((8, 9), Target::Cubin((8, 9))),
            ((9, 0), Target::Cubin((9, 0))),
            ((10, 0), Target::Cubin((10, 0))),
            ((10, 3), Target::Cubin((10, 0))),
            ((12, 0), Target::Cubin((12, 0))),
            ((12, 1), Target::Cubin((12, 0))),
            ((5, 2), Target::Ptx),
            ((6, 1), Target::Ptx),
            ((7, 5), Target::Ptx),
            ((8, 7), Target::Ptx),
            ((10, 1), Target::Ptx),
            ((11, 0), Target::Ptx),
            ((13, 0), Target::Ptx),
        ];
        for pack in packs() {
            let entries = table(&pack).unwrap().entries;
            for (compute, target) in cases {
                for unit in units(&[&pack]) {
                    let chosen = &entries[choose(&entries, &unit, compute).unwrap()];
                    assert_eq!((chosen.unit, chosen.target), (unit.as_str(), target), "{unit} for {compute:?}");
                }
            }
        }
    }

    #[test]
    fn kernels_wait_for_those_before_where_the_text_says_so() {
        for (compute, waits) in [((8, 9), false), ((9, 0), true), ((12, 1), true), ((11, 0), false), ((13, 0), false)] {
            for pack in packs() {
                let (packs, unit) = (&[pack.as_slice()], &units(&[&pack])[0]);
                let code = Code { name: unit, images: Images::Packed { packs, unit }, source: "", defines: &[] };
                assert_eq!(of(&code, compute).unwrap().waits(), waits, "{unit} {compute:?}");
            }
        }
    }

    #[test]
    fn images_are_what_the_driver_takes() {
        const MACHINE: std::ops::Range<usize> = 18..20;
        const CUDA: u16 = 190;
        for pack in packs() {
            let table = table(&pack).unwrap();
            for (place, entry) in table.entries.iter().enumerate() {
                let bytes = extract(&table, place).unwrap();
                match entry.target {
                    Target::Cubin(_) => {
                        assert!(bytes.starts_with(b"\x7fELF"));
                        assert_eq!(bytes[MACHINE], CUDA.to_le_bytes());
                    }
                    Target::Ptx => {
                        let text = std::ffi::CStr::from_bytes_with_nul(&bytes).unwrap().to_str().unwrap();
                        assert!(text.contains(".target sm_50") && text.contains(".visible .entry"));
                    }
                }
            }
        }
    }

    #[test]
    fn a_damaged_pack_is_an_error() {
        let file = &packs()[0];
        assert!(table(&file[1..]).is_none());
        assert!(table(&file[..20]).is_none());
        let whole = table(file).unwrap();
        let half = Table { stream: &whole.stream[..whole.stream.len() / 2], entries: whole.entries };
        assert!(extract(&half, half.entries.len() - 1).is_err());
    }
}
