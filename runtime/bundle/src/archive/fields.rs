//! The records of a zip file, byte by byte (APPNOTE 4.3), little-endian.

/// Begins the header before an entry's data (APPNOTE 4.3.7).
pub(super) const LOCAL: u32 = 0x0403_4b50;
/// Begins an entry of the directory (APPNOTE 4.3.12).
pub(super) const CENTRAL: u32 = 0x0201_4b50;
/// Begins the end of the directory (APPNOTE 4.3.16).
pub(super) const END: u32 = 0x0605_4b50;
/// Begins what leads to the end of a directory of zip64 (APPNOTE 4.3.15).
pub(super) const LOCATOR_64: u32 = 0x0706_4b50;
/// Bytes of a header before its name.
pub(super) const LOCAL_BYTES: usize = 30;
/// Bytes of the end of the directory without a comment.
pub(super) const END_BYTES: usize = 22;
/// Bytes of what leads to the end of a directory of zip64.
pub(super) const LOCATOR_64_BYTES: usize = 20;

/// The flags of an encrypted entry: bits 0, 6 and 13 (APPNOTE 4.4.4).
pub(super) const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// The flag of an entry whose sizes follow its data.
pub(super) const STREAMED: u16 = 1 << 3;

/// Extra fields that change what is read: sizes of zip64, encryption, another name
/// (APPNOTE 4.5.2, 4.6).
pub(super) const EXTRA_ZIP64: u16 = 0x0001;
pub(super) const EXTRA_AES: u16 = 0x9901;
pub(super) const EXTRA_NAME: u16 = 0x7075;

/// Takes fields off the front of some bytes; `None` where they end too early.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'b>(pub &'b [u8]);

impl<'b> Fields<'b> {
    pub(super) fn take(&mut self, n: usize) -> Option<&'b [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// What a header before data and the directory's entry both say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'b> {
    pub flags: u16,
    pub method: u16,
    pub crc32: u32,
    pub compressed: u32,
    pub size: u32,
    pub name: &'b [u8],
    pub extra: &'b [u8],
}

/// The header at the front of `fields`, without its signature.
pub(super) fn local<'b>(fields: &mut Fields<'b>) -> Option<Said<'b>> {
    let _version_needed = fields.u16()?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    let _time = fields.u32()?;
    let (crc32, compressed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (name, extra) = (fields.u16()?, fields.u16()?);
    Some(Said {
        flags,
        method,
        crc32,
        compressed,
        size,
        name: fields.take(name.into())?,
        extra: fields.take(extra.into())?,
    })
}

/// One entry of the directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Central<'b> {
    pub said: Said<'b>,
    pub disk: u16,
    /// The mode of a Unix file where it is not 0.
    pub mode: u32,
    pub offset: u32,
}

/// The entry at the front of `fields`, with its signature.
pub(super) fn central<'b>(fields: &mut Fields<'b>) -> Option<Central<'b>> {
    if fields.u32()? != CENTRAL {
        return None;
    }
    let _made_by = fields.u16()?;
    let _version_needed = fields.u16()?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    let _time = fields.u32()?;
    let (crc32, compressed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    let disk = fields.u16()?;
    let _internal = fields.u16()?;
    let (external, offset) = (fields.u32()?, fields.u32()?);
    let said = Said {
        flags,
        method,
        crc32,
        compressed,
        size,
        name: fields.take(name.into())?,
        extra: fields.take(extra.into())?,
    };
    fields.take(comment.into())?;
    Some(Central {
        said,
        disk,
        mode: external >> 16,
        offset,
    })
}

/// The ids of some extra fields; `None` where one is cut.
pub(super) fn extra_ids(extra: &[u8]) -> Option<Vec<u16>> {
    let (mut fields, mut ids) = (Fields(extra), Vec::new());
    while !fields.0.is_empty() {
        ids.push(fields.u16()?);
        let bytes = fields.u16()?;
        fields.take(bytes.into())?;
    }
    Some(ids)
}
