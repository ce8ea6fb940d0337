//! Server side of the NBD protocol (`doc/proto.md` of the NetworkBlockDevice
//! project), as far as the clients here need it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

const MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const FIXED_NEWSTYLE_NO_ZEROES: u16 = 3;
const OPT_EXPORT_NAME: u32 = 1;
const OPT_ABORT: u32 = 2;
const OPT_INFO: u32 = 6;
const OPT_GO: u32 = 7;
const REP_ACK: u32 = 1;
const REP_INFO: u32 = 3;
const REP_UNSUPPORTED: u32 = 0x8000_0001;
/// Transmission flags of an export that supports flushes.
pub(crate) const PLAIN: u16 = 1 | 4;
/// Transmission flags of an export that also supports FUA.
pub(crate) const WITH_FUA: u16 = PLAIN | 8;
/// Command flag of a write that must reach the medium before it is acknowledged.
const FUA: u16 = 1;
const REPLY: u32 = 0x6744_6698;
pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISCONNECT: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const EIO: u32 = 5;
pub(crate) const EINVAL: u32 = 22;

/// Request of a client.
#[derive(Debug)]
pub(crate) struct Request {
    /// Type of the request, such as [`READ`].
    pub(crate) kind: u16,
    /// Set for a write that must reach the medium before it is acknowledged.
    pub(crate) fua: bool,
    /// Names the request in its reply.
    pub(crate) cookie: [u8; 8],
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Payload of a write; else empty.
    pub(crate) data: Vec<u8>,
}

impl Request {
    /// Reads the next request.
    pub(crate) fn read(stream: &mut UnixStream) -> io::Result<Self> {
        let _magic: [u8; 4] = number(stream)?;
        let flags = u16::from_be_bytes(number(stream)?);
        let kind = u16::from_be_bytes(number(stream)?);
        let mut request = Self {
            kind,
            fua: flags & FUA != 0,
            cookie: number(stream)?,
            offset: u64::from_be_bytes(number(stream)?),
            length: u32::from_be_bytes(number(stream)?),
            data: Vec::new(),
        };
        if kind == WRITE {
            request.data = vec![0; usize::try_from(request.length).map_err(io::Error::other)?];
            stream.read_exact(&mut request.data)?;
        }
        Ok(request)
    }

    /// Replies with the data of a read, or with an error number.
    pub(crate) fn reply(
        &self,
        stream: &mut UnixStream,
        answer: Result<Vec<u8>, u32>,
    ) -> io::Result<()> {
        let (error, data) = match answer {
            Ok(data) => (0, data),
            Err(error) => (error, Vec::new()),
        };
        stream.write_all(&REPLY.to_be_bytes())?;
        stream.write_all(&error.to_be_bytes())?;
        stream.write_all(&self.cookie)?;
        stream.write_all(&data)
    }
}

fn number<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Negotiates the only export; returns false if the client leaves without it.
pub(crate) fn negotiate(stream: &mut UnixStream, bytes: u64, flags: u16) -> io::Result<bool> {
    stream.write_all(&MAGIC.to_be_bytes())?;
    stream.write_all(&OPTION.to_be_bytes())?;
    stream.write_all(&FIXED_NEWSTYLE_NO_ZEROES.to_be_bytes())?;
    let _client_flags: [u8; 4] = number(stream)?;
    loop {
        let _magic: [u8; 8] = number(stream)?;
        let option = u32::from_be_bytes(number(stream)?);
        let length = u32::from_be_bytes(number(stream)?);
        let mut data = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        stream.read_exact(&mut data)?;
        let mut export = bytes.to_be_bytes().to_vec();
        export.extend(flags.to_be_bytes());
        match option {
            OPT_EXPORT_NAME => {
                stream.write_all(&export)?;
                return Ok(true);
            }
            OPT_GO | OPT_INFO => {
                // Information type 0 is the export.
                let info = [&0_u16.to_be_bytes()[..], &export].concat();
                answer(stream, option, REP_INFO, &info)?;
                answer(stream, option, REP_ACK, &[])?;
                if option == OPT_GO {
                    return Ok(true);
                }
            }
            OPT_ABORT => {
                answer(stream, option, REP_ACK, &[])?;
                return Ok(false);
            }
            _ => answer(stream, option, REP_UNSUPPORTED, &[])?,
        }
    }
}

fn answer(stream: &mut UnixStream, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    stream.write_all(&OPTION_REPLY.to_be_bytes())?;
    for word in [option, kind, length] {
        stream.write_all(&word.to_be_bytes())?;
    }
    stream.write_all(data)
}
