//! The body of a request, from its first piece to the decompressed whole.
//!
//! Every piece is paid for from the budget as it arrives and as it is decompressed, and both the body and what becomes of
//! it are bounded by the size limit, so that a body that unfolds to a thousand times its size is given up at the limit.

use std::io::{self, Read};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt;

use super::Settings;
use super::budget::Share;
use super::intake::Refused;

/// Decompressed between two looks at the limits, in bytes; other tasks run in between.
const PIECE: usize = 64 << 10;

/// Largest window of a zstd frame, as a power of two: 8 MiB, which RFC 8878 wants every decoder to support. The window is
/// not paid for from the budget.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// What a sender is told whose request did not arrive in time: its connection is slow, or the machine has too much to do.
const LATE: Refused = Refused::Busy {
    why: "the request did not arrive in time",
    retry_after: Duration::from_secs(1),
};

/// Most bytes for which there is room made before they arrive, because a body announces them.
const ROOM_AHEAD: usize = 1 << 20;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
}

impl Coding {
    /// What `Content-Encoding` says; nothing when it is unknown, or when there is more than one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let Some(value) = values.next() else {
            return Some(Self::Identity);
        };
        let name = value.to_str().ok()?.trim().to_ascii_lowercase();
        match (name.as_str(), values.next()) {
            ("" | "identity", None) => Some(Self::Identity),
            ("gzip" | "x-gzip", None) => Some(Self::Gzip),
            ("deflate", None) => Some(Self::Deflate),
            ("zstd", None) => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// What a transport puts before a message.
pub(super) struct Framing {
    /// How long that is, in bytes.
    pub(super) prefix_bytes: usize,
    /// How long a body is that begins so, where its beginning tells.
    pub(super) body_bytes: fn(&[u8]) -> Option<usize>,
}

impl Framing {
    /// Nothing at all.
    pub(super) const NONE: Self = Self {
        prefix_bytes: 0,
        body_bytes: |_| None,
    };
}

/// All of a body as it came over the wire.
pub(super) async fn receive(
    body: &mut Body,
    framing: &Framing,
    settings: &Settings,
    share: &Share,
) -> Result<Bytes, Refused> {
    let arrival = arrive(body, framing, settings.message_bytes_max, share);
    let arrived = tokio::time::timeout(settings.arrival_max, arrival).await;
    arrived.unwrap_or(Err(LATE))
}

async fn arrive(
    body: &mut Body,
    framing: &Framing,
    bytes_max: usize,
    share: &Share,
) -> Result<Bytes, Refused> {
    let fits = |bytes: usize| {
        let fits = bytes <= bytes_max + framing.prefix_bytes;
        fits.then_some(()).ok_or(Refused::TooLarge { bytes_max })
    };
    fits(usize::try_from(http_body::Body::size_hint(body).lower()).unwrap_or(usize::MAX))?;
    let mut whole = Gathered::default();
    while let Some(frame) = body.frame().await {
        let broken = |error| Refused::Invalid(format!("the body broke off: {error}"));
        // Trailers tell nothing that OTLP knows.
        let Ok(piece) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        fits(whole.so_far().len() + piece.len())?;
        share.grow(piece.len()).map_err(no_room)?;
        whole.add(piece, framing);
        fits(whole.announced)?;
    }
    Ok(whole.finish())
}

/// The pieces of a body. One that comes in one piece stays where it is.
#[derive(Default)]
struct Gathered {
    first: Bytes,
    /// All of them, once there are several.
    all: BytesMut,
    /// How long the whole says it is; 0 where it does not.
    announced: usize,
}

impl Gathered {
    fn so_far(&self) -> &[u8] {
        if self.all.is_empty() {
            &self.first
        } else {
            &self.all
        }
    }

    fn add(&mut self, piece: Bytes, framing: &Framing) {
        if self.so_far().is_empty() {
            self.first = piece;
        } else {
            let missing = self.announced.saturating_sub(self.so_far().len());
            let room = missing.min(ROOM_AHEAD).max(piece.len());
            if self.all.is_empty() {
                self.all.reserve(self.first.len() + room);
                self.all.extend_from_slice(&self.first);
            }
            self.all.reserve(room);
            self.all.extend_from_slice(&piece);
        }
        if self.announced == 0 {
            self.announced = (framing.body_bytes)(self.so_far()).unwrap_or(0);
        }
    }

    fn finish(self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            self.all.freeze()
        }
    }
}

/// The body without its compression.
pub(super) async fn decompressed(
    coding: Coding,
    body: Bytes,
    bytes_max: usize,
    share: &Share,
) -> Result<Bytes, Refused> {
    let unreadable = |error| not_compressed(coding, &error);
    let whole = match coding {
        Coding::Identity => return Ok(body),
        Coding::Gzip => unfold(MultiGzDecoder::new(&*body), bytes_max, share).await?,
        Coding::Deflate => unfold(ZlibDecoder::new(&*body), bytes_max, share).await?,
        Coding::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(&*body).map_err(unreadable);
            let mut decoder = decoder.map_err(Refused::Invalid)?;
            let bounded = decoder.window_log_max(ZSTD_WINDOW_LOG_MAX);
            bounded.map_err(unreadable).map_err(Refused::Invalid)?;
            unfold(decoder, bytes_max, share).await?
        }
    };
    whole.map_err(unreadable).map_err(Refused::Invalid)
}

/// Everything that a decoder gives, or its error; refused where there is too much of it.
async fn unfold(
    mut decoder: impl Read,
    bytes_max: usize,
    share: &Share,
) -> Result<io::Result<Bytes>, Refused> {
    let mut whole = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let read = match decoder.read(&mut piece) {
            Ok(0) => return Ok(Ok(whole.into())),
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        if whole.len() + read > bytes_max {
            return Err(Refused::TooLarge { bytes_max });
        }
        share.grow(read).map_err(no_room)?;
        whole.extend_from_slice(&piece[..read]);
        tokio::task::yield_now().await;
    }
}

fn not_compressed(coding: Coding, error: &io::Error) -> String {
    let coding = format!("{coding:?}").to_lowercase();
    format!("the body is not the {coding} that its content encoding says: {error}")
}

/// What a sender is told for whose bytes there is no room.
fn no_room(retry_after: Duration) -> Refused {
    Refused::Busy {
        why: "too many bytes are being received",
        retry_after,
    }
}
