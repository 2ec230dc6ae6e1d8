//! Module images: which kind the bytes are, and whether they are all there.
//!
//! `cuModuleLoadData` takes an address and no length: it reads as far as the image's own headers
//! say. So the headers are checked against the length first.

use std::borrow::Cow;

/// Why bytes are no module image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// There are no bytes.
    #[error("there are no bytes; the kernel was not built")]
    Empty,
    /// The bytes start like nothing that the driver loads.
    #[error(
        "it starts with {start:02x?}, and is neither a cubin (ELF), a fat binary, nor PTX text with a \
         `.version` line"
    )]
    UnknownKind {
        /// The first bytes, at most four.
        start: Vec<u8>,
    },
    /// It is an ELF file for something else than a GPU.
    #[error("it is an ELF file of class {class}, machine {machine}; a cubin is of class 2, machine 190")]
    NotForGpu {
        /// The ELF class: 1 for 32 bits, 2 for 64.
        class: u8,
        /// The ELF machine.
        machine: u16,
    },
    /// Its headers speak of bytes that are not there.
    #[error("it is cut short: {part} ends at byte {end}, and there are {len} bytes")]
    CutShort {
        /// Which part.
        part: &'static str,
        /// Where it ends.
        end: u64,
        /// How many bytes there are.
        len: u64,
    },
    /// It is PTX text with a NUL before its end, where the driver would stop to read.
    #[error("it is PTX text with a NUL byte at {at}, before its end at {len}")]
    InnerNul {
        /// Where the NUL is.
        at: usize,
        /// How long the text is.
        len: usize,
    },
}

/// The image as the driver wants it: PTX text gains a NUL at its end, where it has none.
pub(crate) fn prepare(image: &[u8]) -> Result<Cow<'_, [u8]>, ImageError> {
    match image {
        [] => Err(ImageError::Empty),
        [0x7f, b'E', b'L', b'F', ..] => check_elf(image).map(|()| image.into()),
        [0x50, 0xed, 0x55, 0xba, ..] => check_fat_binary(image).map(|()| image.into()),
        _ => prepare_ptx(image),
    }
}

/// A fat binary: magic (4 bytes), version (2), size of this header (2), size of what follows (8).
fn check_fat_binary(image: &[u8]) -> Result<(), ImageError> {
    let reader = Reader(image);
    let header = u64::from(reader.u16(6, "fat binary header")?);
    let body = reader.u64(8, "fat binary header")?;
    reader.expect(header, body, "fat binary body")
}

/// A cubin is a 64-bit little-endian ELF file (System V ABI, "Object Files": header, section
/// header table) of machine 190, `EM_CUDA`.
fn check_elf(image: &[u8]) -> Result<(), ImageError> {
    const EM_CUDA: u16 = 190;
    // Kinds of section whose bytes are in the file, by the ABI. Others are NVIDIA's own or
    // describe memory without bytes (`.nv.shared`).
    const IN_FILE: [u32; 6] = [1, 2, 3, 4, 7, 9]; // PROGBITS SYMTAB STRTAB RELA NOTE REL
    let reader = Reader(image);
    let class = reader.bytes::<1>(4, "ELF header")?[0];
    let machine = reader.u16(18, "ELF header")?;
    if (class, machine) != (2, EM_CUDA) {
        return Err(ImageError::NotForGpu { class, machine });
    }
    for (offset, entry_bytes, count, part) in
        [(32, 54, 56, "ELF program header table"), (40, 58, 60, "ELF section header table")]
    {
        let start = reader.u64(offset, "ELF header")?;
        let entry_bytes = reader.u16(entry_bytes, "ELF header")?;
        let count = reader.u16(count, "ELF header")?;
        reader.expect(start, u64::from(entry_bytes) * u64::from(count), part)?;
    }
    let (sections, entry_bytes) = (reader.u64(40, "ELF header")?, reader.u16(58, "ELF header")?);
    for index in 0..reader.u16(60, "ELF header")? {
        // The table lies in the image, so that this does not overflow.
        let header = sections + u64::from(index) * u64::from(entry_bytes);
        if IN_FILE.contains(&reader.u32(header.saturating_add(4), "ELF section header")?) {
            let start = reader.u64(header.saturating_add(24), "ELF section header")?;
            let bytes = reader.u64(header.saturating_add(32), "ELF section header")?;
            reader.expect(start, bytes, "an ELF section")?;
        }
    }
    Ok(())
}

fn prepare_ptx(image: &[u8]) -> Result<Cow<'_, [u8]>, ImageError> {
    let unknown = || ImageError::UnknownKind { start: image.iter().copied().take(4).collect() };
    let text = image.strip_suffix(b"\0").unwrap_or(image);
    if let Some(at) = text.iter().position(|&byte| byte == 0) {
        return Err(if at < 4 { unknown() } else { ImageError::InnerNul { at, len: image.len() } });
    }
    let has_version = str::from_utf8(text)
        .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with(".version")));
    if !has_version {
        return Err(unknown());
    }
    Ok(if text.len() < image.len() { image.into() } else { [text, b"\0"].concat().into() })
}

/// Little-endian reads that say which part of the image was to be read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&self, offset: u64, part: &'static str) -> Result<[u8; N], ImageError> {
        self.expect(offset, N as u64, part)?;
        let start = usize::try_from(offset).ok();
        let found = start.and_then(|start| self.0.get(start..)?.first_chunk::<N>());
        found.copied().ok_or(ImageError::CutShort { part, end: offset, len: self.0.len() as u64 })
    }

    fn u16(&self, offset: u64, part: &'static str) -> Result<u16, ImageError> {
        self.bytes(offset, part).map(u16::from_le_bytes)
    }

    fn u32(&self, offset: u64, part: &'static str) -> Result<u32, ImageError> {
        self.bytes(offset, part).map(u32::from_le_bytes)
    }

    fn u64(&self, offset: u64, part: &'static str) -> Result<u64, ImageError> {
        self.bytes(offset, part).map(u64::from_le_bytes)
    }

    fn expect(&self, start: u64, bytes: u64, part: &'static str) -> Result<(), ImageError> {
        let (end, len) = (start.saturating_add(bytes), self.0.len() as u64);
        if end <= len { Ok(()) } else { Err(ImageError::CutShort { part, end, len }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header, one section of 16 bytes at 64, and the section header table at 80.
    fn cubin() -> Vec<u8> {
        let mut image = vec![0; 80 + 64];
        let mut put =
            |offset: usize, bytes: &[u8]| image[offset..offset + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02\x01\x01");
        put(18, &190u16.to_le_bytes());
        put(40, &80u64.to_le_bytes());
        put(58, &64u16.to_le_bytes());
        put(60, &1u16.to_le_bytes());
        put(80 + 4, &1u32.to_le_bytes());
        put(80 + 24, &64u64.to_le_bytes());
        put(80 + 32, &16u64.to_le_bytes());
        image
    }

    #[test]
    fn a_whole_cubin_passes_and_every_prefix_of_it_is_refused() {
        let image = cubin();
        assert_eq!(prepare(&image), Ok(Cow::Borrowed(&image[..])));
        for len in 0..image.len() {
            let error = prepare(&image[..len]).unwrap_err();
            if len >= 20 {
                assert!(matches!(error, ImageError::CutShort { .. }), "{len}: {error}");
            }
        }
    }

    #[test]
    fn a_section_outside_the_file_is_refused_unless_it_has_no_bytes() {
        let mut image = cubin();
        image[80 + 32..80 + 40].copy_from_slice(&u64::MAX.to_le_bytes());
        let error = prepare(&image).unwrap_err();
        assert!(
            matches!(error, ImageError::CutShort { part: "an ELF section", end: u64::MAX, .. }),
            "{error}"
        );
        image[80 + 4] = 8; // NOBITS
        assert!(prepare(&image).is_ok());
    }

    #[test]
    fn a_host_object_file_is_refused_by_its_machine() {
        let mut image = cubin();
        image[18] = 62; // EM_X86_64
        assert_eq!(prepare(&image), Err(ImageError::NotForGpu { class: 2, machine: 62 }));
    }

    #[test]
    fn fat_binaries_are_as_long_as_they_say() {
        let mut image = vec![0; 16 + 8];
        image[..4].copy_from_slice(&0xba55_ed50u32.to_le_bytes());
        image[6] = 16;
        image[8] = 8;
        assert!(prepare(&image).is_ok());
        let error = prepare(&image[..23]).unwrap_err();
        assert_eq!(error, ImageError::CutShort { part: "fat binary body", end: 24, len: 23 });
    }

    #[test]
    fn ptx_text_gains_its_nul_once() {
        let text = b"// comment\n.version 8.0\n.target sm_90\n";
        let with_nul = [&text[..], b"\0"].concat();
        assert_eq!(prepare(text), Ok(Cow::Borrowed(&with_nul[..])));
        assert!(matches!(prepare(&with_nul), Ok(Cow::Borrowed(_))));
        let inner = [&text[..], b"\0x"].concat();
        assert_eq!(prepare(&inner), Err(ImageError::InnerNul { at: text.len(), len: inner.len() }));
    }

    #[test]
    fn other_bytes_are_shown() {
        assert_eq!(prepare(b""), Err(ImageError::Empty));
        let error = prepare(b"MZ\x90\0").unwrap_err();
        assert_eq!(error, ImageError::UnknownKind { start: vec![b'M', b'Z', 0x90, 0] });
        assert!(error.to_string().contains("4d, 5a, 90, 00"), "{error}");
        assert!(prepare(b"just text\n").is_err());
    }
}
