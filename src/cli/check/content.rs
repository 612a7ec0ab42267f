//! What a file of recorded telemetry holds and what it is, as far as its first bytes and the keys of its objects tell.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::value::RawValue;

use crate::cli::failure::Failure;

/// Largest file after decompression, in bytes: it is held in memory, and a gzip bomb must not fill that.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// The path that stands for standard input.
pub(in crate::cli) const STANDARD_INPUT: &str = "-";

/// What some editors put before a text: UTF-8's mark of its byte order, which it has none of.
pub(in crate::cli) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What begins with these bytes, and is not read.
const NOT_READ: [(&[u8], &str); 3] = [
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        "it is compressed with zstd; unpack it first",
    ),
    (&[0xff, 0xfe], "it is UTF-16; write it as UTF-8"),
    (&[0xfe, 0xff], "it is UTF-16; write it as UTF-8"),
];

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What an object is, by its keys.
#[derive(serde::Deserialize)]
pub(super) struct Keys<'a> {
    #[serde(borrow, alias = "resource_spans", rename = "resourceSpans")]
    pub(super) spans: Option<&'a RawValue>,
    #[serde(borrow, alias = "resource_logs", rename = "resourceLogs")]
    pub(super) logs: Option<&'a RawValue>,
    #[serde(borrow, alias = "resource_metrics", rename = "resourceMetrics")]
    pub(super) metrics: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) events: Option<&'a RawValue>,
}

impl<'a> Keys<'a> {
    /// The keys of an object; `None` of other JSON. A list would be taken for the values of the keys in their order.
    pub(super) fn of(json: &'a str) -> Option<serde_json::Result<Self>> {
        json.starts_with('{').then(|| serde_json::from_str(json))
    }

    pub(super) fn is_otlp(&self) -> bool {
        self.spans.is_some() || self.logs.is_some() || self.metrics.is_some()
    }

    pub(super) fn is_events(&self) -> bool {
        self.events.is_some() && !self.is_otlp()
    }
}

/// What a file is that is not read, as far as its first bytes tell.
pub(super) fn not_read(bytes: &[u8]) -> Option<&'static str> {
    let known = NOT_READ.iter().find(|(head, _)| bytes.starts_with(head));
    known.map(|(_, what)| *what)
}

/// Whether the first object of a file is a run of events.
pub(super) fn is_events_file(bytes: &[u8]) -> bool {
    let mut objects = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    let first = objects.next().and_then(Result::ok);
    let keys = first.and_then(|object| Keys::of(object.get())?.ok());
    keys.is_some_and(|keys| keys.events.is_some())
}

/// Whether bytes begin as a JSON object or list does.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    let first = bytes.trim_ascii_start().first();
    first.is_none_or(|first| [b'{', b'['].contains(first))
}

/// Whether a line of a file is OTLP/JSON.
pub(super) fn is_otlp(bytes: &[u8], line: u64) -> bool {
    let index = usize::try_from(line - 1).unwrap_or(usize::MAX);
    let line = bytes.split(|byte| *byte == b'\n').nth(index);
    let keys = line.and_then(|line| Keys::of(str::from_utf8(line).ok()?)?.ok());
    keys.is_some_and(|keys| keys.is_otlp())
}

/// The bytes of a file, or of standard input.
pub(super) fn content(path: &Path) -> io::Result<Vec<u8>> {
    if path != Path::new(STANDARD_INPUT) {
        return fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::IsADirectory => io::Error::other("is a directory: name the files in it"),
            _ => error,
        });
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn unzipped(bytes: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&GZIP) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(bytes)
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut plain)
        .map_err(|error| io::Error::other(format!("its gzip is cut off or damaged: {error}")))?;
    if read as u64 == FILE_BYTES_MAX {
        return Err(io::Error::other("larger than 4 GiB when decompressed"));
    }
    Ok(Cow::Owned(plain))
}

/// What could not be read, and why.
pub(in crate::cli) fn wrong(path: &Path, error: impl Display) -> Failure {
    if path == Path::new(STANDARD_INPUT) {
        return Failure::Other(format!("standard input: {error}"));
    }
    Failure::Other(format!("{}: {error}", path.display()))
}
