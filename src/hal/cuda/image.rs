//! Compiled code: packs of images for kinds of GPUs.
//!
//! `kernels/generate` makes the packs and lists the GPUs that have an image of their own.

use std::fmt;
use std::io::{self, Read};

use lzma_rust2::Lzma2Reader;

use crate::data::{Error, Result};
use crate::hal::gpu::{Code, Images};

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
    let damaged = |what: &str| Error::Internal { what: format!("GPU code of {}: {what}", code.name) };
    let pack = match code.images {
        Images::Pack(pack) => pack,
        Images::Ptx(text) => {
            let bytes = [text.as_bytes(), b"\0"].concat();
            return Ok(Image { bytes, target: Target::Ptx });
        }
    };
    let (entries, images) = entries(pack).ok_or_else(|| damaged("its table cannot be read"))?;
    let chosen = choose(&entries, compute).ok_or_else(|| damaged("it has no PTX"))?;
    let bytes = extract(images, &entries, chosen).map_err(|error| damaged(&error.to_string()))?;
    let (major, minor) = compute;
    log::debug!("GPU code of {} for compute capability {major}.{minor}: {}", code.name, entries[chosen].target);
    Ok(Image { bytes, target: entries[chosen].target })
}

// The layout that `pack` in kernels/generate writes: MAGIC, the number of images, the target and
// length of each, and the images as one stream of LZMA2 with this dictionary.
const MAGIC: &[u8] = b"KyoP";
const DICTIONARY: u32 = 1 << 22;

/// GPUs soldered to boards. NVIDIA does not promise that they run cubins made for cards of the same
/// major number.
const SOLDERED: [Compute; 2] = [(8, 7), (10, 1)];

struct Section {
    target: Target,
    length: usize,
}

fn entries(file: &[u8]) -> Option<(Vec<Section>, &[u8])> {
    let (numbers, _) = file.strip_prefix(MAGIC)?.as_chunks::<4>();
    let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let count = numbers.next()? as usize;
    let mut entries = Vec::new();
    for _ in 0..count {
        let target = match numbers.next()? as i32 {
            0 => Target::Ptx,
            number => Target::Cubin((number / 10, number % 10)),
        };
        entries.push(Section { target, length: numbers.next()? as usize });
    }
    Some((entries, file.get(MAGIC.len() + 4 + 8 * count..)?))
}

/// Returns the place of the image that suits a GPU best.
fn choose(entries: &[Section], compute: Compute) -> Option<usize> {
    let minor = |entry: &Section| match entry.target {
        Target::Cubin((major, minor)) if major == compute.0 && minor <= compute.1 && !SOLDERED.contains(&compute) => {
            Some(minor)
        }
        _ => None,
    };
    let cubins = entries.iter().enumerate().filter_map(|(place, entry)| Some((minor(entry)?, place)));
    cubins.max().map(|(_, place)| place).or_else(|| entries.iter().position(|entry| entry.target == Target::Ptx))
}

fn extract(images: &[u8], entries: &[Section], chosen: usize) -> io::Result<Vec<u8>> {
    let mut reader = Lzma2Reader::new(images, DICTIONARY, None);
    let before: usize = entries[..chosen].iter().map(|entry| entry.length).sum();
    io::copy(&mut reader.by_ref().take(before as u64), &mut io::sink())?;
    let mut bytes = vec![0; entries[chosen].length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the packs that the library embeds.
    fn packs() -> Vec<(String, Vec<u8>)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/generated");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let packs = paths.filter(|path| path.extension().is_some_and(|end| end == "pack"));
        packs.map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
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
        for (name, pack) in packs() {
            let (entries, _) = entries(&pack).unwrap();
            for (compute, target) in cases {
                let chosen = choose(&entries, compute).unwrap();
                assert_eq!(entries[chosen].target, target, "{} for {compute:?}", name);
            }
        }
    }

    #[test]
    fn kernels_wait_for_those_before_where_the_text_says_so() {
        for (compute, waits) in [((8, 9), false), ((9, 0), true), ((12, 1), true), ((11, 0), false), ((13, 0), false)] {
            for (name, pack) in packs() {
                let code = Code { name: &name, images: Images::Pack(&pack), source: "", defines: &[] };
                assert_eq!(of(&code, compute).unwrap().waits(), waits, "{name} {compute:?}");
            }
        }
    }

    #[test]
    fn images_are_what_the_driver_takes() {
        const MACHINE: std::ops::Range<usize> = 18..20;
        const CUDA: u16 = 190;
        for (_, pack) in packs() {
            let (entries, images) = entries(&pack).unwrap();
            for (place, entry) in entries.iter().enumerate() {
                let bytes = extract(images, &entries, place).unwrap();
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
        let (_, file) = &packs()[0];
        assert!(entries(&file[1..]).is_none());
        assert!(entries(&file[..20]).is_none());
        let (entries, images) = entries(file).unwrap();
        assert!(extract(&images[..images.len() / 2], &entries, entries.len() - 1).is_err());
    }
}
