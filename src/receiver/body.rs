//! The body of a request, from its first piece to the decompressed whole.
//!
//! Every piece is paid for from the budget as it arrives and as it is decompressed, and both the body and what becomes of
//! it are bounded by the size limit, so that a body that unfolds to a thousand times its size is given up at the limit.

use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Read};
use std::iter;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use flate2::bufread::{GzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout};

use super::Settings;
use super::budget::{SMALL, Share};
use super::outcome::Refused;
use crate::telemetry::innermost;

/// Decompressed between two looks at the limits, in bytes; other tasks run in between.
const PIECE: usize = 64 << 10;

/// Compressed bytes that are read before other tasks run, whatever they come to: some hundred microseconds of work where they
/// come to nothing.
const COMPRESSED_PIECE: usize = 4 << 10;

/// Most members of a body in gzip. Senders write one; each costs some microseconds, also an empty one of twenty bytes.
const MEMBERS_MAX: usize = 1024;

/// Largest window of a zstd frame, as a power of two: 8 MiB, which RFC 8878 wants every decoder to support. The window is
/// not paid for from the budget.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// What a sender is told whose request did not arrive in time: its connection is slow, or the machine has too much to do.
const LATE: Refused = Refused::Busy {
    why: "the request did not arrive in time",
    retry_after: Duration::from_secs(1),
};

/// Time between two looks at how much has come of a body for whose place others may wait.
const LOOK: Duration = Duration::from_millis(250);

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

/// All of a body as it came over the wire: what says how long it will be, and the rest once there is a place for so much.
pub(super) async fn receive(
    body: &mut Body,
    framing: &Framing,
    settings: &Settings,
    share: &Share,
) -> Result<Bytes, Refused> {
    let least = http_body::Body::size_hint(body).lower();
    let least = usize::try_from(least).unwrap_or(usize::MAX);
    let mut arriving = Arriving {
        whole: Gathered::default(),
        body,
        framing,
        bytes_max: settings.message_bytes_max,
        share,
    };
    arriving.must_fit(least)?;
    if framing.prefix_bytes == 0 {
        arriving.whole.announced = least;
    }
    arriving.beginning(settings).await?;
    let expected = arriving.whole.expected(settings.message_bytes_max);
    share.place(expected).await?;
    arriving.rest(settings).await?;
    Ok(arriving.whole.finish())
}

/// A body of which some has come.
struct Arriving<'a> {
    whole: Gathered,
    body: &'a mut Body,
    framing: &'a Framing,
    bytes_max: usize,
    share: &'a Share,
}

impl Arriving<'_> {
    fn must_fit(&self, bytes: usize) -> Result<(), Refused> {
        let bytes_max = self.bytes_max;
        let fits = bytes <= bytes_max + self.framing.prefix_bytes;
        fits.then_some(()).ok_or(Refused::TooLarge { bytes_max })
    }

    /// Receives what says how long the whole will be, or so much that it is not small.
    async fn beginning(&mut self, settings: &Settings) -> Result<(), Refused> {
        let is_enough = |whole: &Gathered| whole.announced > 0 || whole.so_far().len() > SMALL;
        let time_max = self.share.time_to_arrive(settings.arrival_max);
        let more = timeout(time_max, self.more(is_enough));
        more.await.unwrap_or(Err(LATE))
    }

    /// Receives what is left, in the time that there is, and faster than some where others wait for its place.
    async fn rest(&mut self, settings: &Settings) -> Result<(), Refused> {
        let (usual, began) = (settings.arrival_max, Instant::now());
        let time_max = self.share.time_to_arrive(usual);
        loop {
            let left = time_max.saturating_sub(began.elapsed());
            if let Ok(done) = timeout(left.min(LOOK), self.more(|_| false)).await {
                return done;
            }
            let (after, bytes) = (began.elapsed(), self.whole.so_far().len());
            if after >= time_max || self.share.is_in_the_way(usual, after, bytes) {
                return Err(LATE);
            }
        }
    }

    async fn more(&mut self, is_enough: impl Fn(&Gathered) -> bool) -> Result<(), Refused> {
        while !self.whole.is_over && !is_enough(&self.whole) {
            let Some(frame) = self.body.frame().await else {
                self.whole.is_over = true;
                break;
            };
            // Trailers tell nothing that OTLP knows.
            let Ok(piece) = frame.map_err(|error| broken_off(&error))?.into_data() else {
                continue;
            };
            // A sender that does not know yet that a piece is the last one says so with an empty one behind it.
            if piece.is_empty() {
                continue;
            }
            self.must_fit(self.whole.so_far().len() + piece.len())?;
            self.share.grow(piece.len())?;
            self.whole.add(piece, self.framing);
            self.must_fit(self.whole.announced)?;
        }
        Ok(())
    }
}

/// Why a body did not come to its end: its bytes are no body, or its sender is not there any more.
fn broken_off(error: &(dyn Error + 'static)) -> Refused {
    let mut causes = iter::successors(Some(error), |&cause| cause.source());
    let is_garbled = causes.any(|cause| {
        let kind = cause.downcast_ref().map(io::Error::kind);
        matches!(kind, Some(ErrorKind::InvalidInput | ErrorKind::InvalidData))
    });
    if is_garbled {
        return Refused::Invalid(format!("the body broke off: {}", innermost(error)));
    }
    Refused::Left
}

/// The pieces of a body. One that comes in one piece stays where it is.
#[derive(Default)]
struct Gathered {
    first: Bytes,
    /// All of them, once there are several.
    all: BytesMut,
    /// How long the whole says it is; 0 where it does not.
    announced: usize,
    is_over: bool,
}

impl Gathered {
    fn so_far(&self) -> &[u8] {
        if self.all.is_empty() {
            &self.first
        } else {
            &self.all
        }
    }

    /// How long the whole will be; as long as may be where nothing tells.
    fn expected(&self, bytes_max: usize) -> usize {
        match self.announced {
            0 if self.is_over => self.so_far().len(),
            0 => bytes_max,
            announced => announced,
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
    let paced = Paced::of(&body);
    let whole = match coding {
        Coding::Identity => return Ok(body),
        Coding::Gzip => unfold(|| Ok(Members::of(paced)), bytes_max, share).await?,
        Coding::Deflate => unfold(|| Ok(ZlibDecoder::new(paced)), bytes_max, share).await?,
        Coding::Zstd => unfold(|| zstd_decoder(paced), bytes_max, share).await?,
    };
    whole.map_err(|error| Refused::Invalid(not_compressed(coding, &error)))
}

fn zstd_decoder(paced: Paced<'_>) -> io::Result<impl Read> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(paced)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
}

/// Everything that a decoder gives, or its error; refused where there is too much of it.
async fn unfold<D: Read>(
    begin: impl FnOnce() -> io::Result<D>,
    bytes_max: usize,
    share: &Share,
) -> Result<io::Result<Bytes>, Refused> {
    let _place = share.decoder().await;
    let mut decoder = match begin() {
        Ok(decoder) => decoder,
        Err(error) => return Ok(Err(error)),
    };
    let mut whole = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return Ok(Ok(whole.into())),
            Ok(read) if whole.len() + read > bytes_max => {
                return Err(Refused::TooLarge { bytes_max });
            }
            Ok(read) => {
                share.grow(read)?;
                whole.extend_from_slice(&piece[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Ok(Err(error)),
        }
        tokio::task::yield_now().await;
    }
}

/// Compressed bytes, some at a time: a decoder that found nothing in them would otherwise read all of them, for seconds.
/// Between two pieces they say [`io::ErrorKind::WouldBlock`], once.
#[derive(Clone, Copy)]
struct Paced<'a> {
    rest: &'a [u8],
    /// What is still given of this piece.
    left: usize,
}

impl<'a> Paced<'a> {
    fn of(rest: &'a [u8]) -> Self {
        let left = COMPRESSED_PIECE;
        Self { rest, left }
    }
}

impl BufRead for Paced<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 && !self.rest.is_empty() {
            self.left = COMPRESSED_PIECE;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(&self.rest[..self.left.min(self.rest.len())])
    }

    fn consume(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
        self.left -= bytes;
    }
}

impl Read for Paced<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let given = self.fill_buf()?;
        let bytes = given.len().min(into.len());
        into[..bytes].copy_from_slice(&given[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

/// The members of a body in gzip, one behind the other, as many as there may be.
struct Members<'a> {
    decoder: GzDecoder<Paced<'a>>,
    /// How many there may still be.
    left: usize,
}

impl<'a> Members<'a> {
    fn of(paced: Paced<'a>) -> Self {
        Self {
            decoder: GzDecoder::new(paced),
            left: MEMBERS_MAX - 1,
        }
    }
}

impl Read for Members<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(into)?;
        let rest = *self.decoder.get_ref();
        if read > 0 || rest.rest.is_empty() {
            return Ok(read);
        }
        let left = self.left.checked_sub(1);
        self.left = left
            .ok_or_else(|| io::Error::other(format!("it has more than {MEMBERS_MAX} members")))?;
        self.decoder.reset(rest);
        Err(io::ErrorKind::WouldBlock.into())
    }
}

fn not_compressed(coding: Coding, error: &io::Error) -> String {
    let coding = format!("{coding:?}").to_lowercase();
    format!("the body is not the {coding} that its content encoding says: {error}")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::budget::Budget;
    use super::*;

    const BYTES_MAX: usize = 1 << 20;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).expect("a Vec takes everything");
        encoder.finish().expect("a Vec takes everything")
    }

    /// A frame of zstd with so many blocks, of which none has anything in it.
    fn zstd_of_nothing(blocks: usize) -> Vec<u8> {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58];
        frame.extend([0, 0, 0].repeat(blocks));
        frame.extend([1, 0, 0]);
        frame
    }

    /// Given members of gzip one behind the other, they are one body, up to a number; beyond it the body is refused for good.
    #[tokio::test]
    async fn members_are_counted() {
        let budget = Budget::of(BYTES_MAX);
        let unfold = async |members: usize| {
            let body = [gzip(b"a"), gzip(b"").repeat(members - 2), gzip(b"b")].concat();
            let share = budget.share().expect("a place");
            decompressed(Coding::Gzip, body.into(), BYTES_MAX, &share).await
        };
        assert_eq!(unfold(MEMBERS_MAX).await, Ok(Bytes::from("ab")));
        let refused = unfold(MEMBERS_MAX + 1).await.expect_err("too many");
        assert!(matches!(refused, Refused::Invalid(why) if why.contains("1024 members")));
    }

    /// Given a mebibyte of compressed bytes that come to nothing, others run meanwhile, in every coding that allows it.
    #[tokio::test]
    async fn others_run_while_nothing_comes_of_much() {
        let deflate = [
            &b"\x78\x01"[..],
            &b"\0\0\0\xff\xff".repeat(BYTES_MAX / 5),
            b"\x01\0\0\xff\xff\0\0\0\x01",
        ]
        .concat();
        let gzip = [
            &gzip(b"")[..10],
            &b"\0\0\0\xff\xff".repeat(BYTES_MAX / 5),
            b"\x01\0\0\xff\xff\0\0\0\0\0\0\0\0",
        ]
        .concat();
        for (coding, body) in [
            (Coding::Deflate, deflate),
            (Coding::Gzip, gzip),
            (Coding::Zstd, zstd_of_nothing(BYTES_MAX / 3)),
        ] {
            let turns = AtomicUsize::new(0);
            let others = async {
                loop {
                    turns.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            };
            let budget = Budget::of(BYTES_MAX);
            let share = budget.share().expect("a place");
            tokio::select! {
                whole = decompressed(coding, body.into(), BYTES_MAX, &share) => {
                    assert_eq!(whole, Ok(Bytes::new()), "{coding:?}");
                }
                () = others => {}
            }
            let turns = turns.into_inner();
            assert!(turns >= BYTES_MAX / COMPRESSED_PIECE, "{coding:?}: {turns}");
        }
    }

    /// Given a body in one piece, with an empty one behind it that ends it, it is handed on where it arrived.
    #[tokio::test]
    async fn one_piece_is_not_copied() {
        let budget = Budget::of(BYTES_MAX);
        let share = budget.share().expect("a place");
        let piece = Bytes::from(b"12345".repeat(100));
        let pieces = [piece.clone(), Bytes::new()].map(Ok::<_, io::Error>);
        let mut body = Body::from_stream(futures_util::stream::iter(pieces));
        let whole = receive(&mut body, &Framing::NONE, &Settings::default(), &share).await;
        let whole = whole.expect("it arrives");
        assert_eq!((whole.as_ptr(), whole.len()), (piece.as_ptr(), piece.len()));
    }

    /// Given a frame of zstd that asks for a window of 8 MiB, it is read; for one of 16 MiB, it is refused for good.
    #[tokio::test]
    async fn windows_have_a_limit() {
        let budget = Budget::of(BYTES_MAX);
        for (exponent, is_read) in [(13, true), (14, false)] {
            let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3, 9, 0, 0, b'a'];
            let (share, body) = (
                budget.share().expect("a place"),
                Bytes::copy_from_slice(&frame),
            );
            let whole = decompressed(Coding::Zstd, body, BYTES_MAX, &share).await;
            assert_eq!(whole.is_ok(), is_read, "{whole:?}");
        }
    }

    /// Given as many bodies being decompressed as there may be, the next one waits for one of them to end; one that is not
    /// compressed does not.
    #[tokio::test]
    async fn decoders_are_counted() {
        let budget = Budget::of(BYTES_MAX);
        let share = budget.share().expect("a place");
        let mut places = Vec::new();
        for _ in 0..super::super::budget::DECODERS_MAX {
            places.push(share.decoder().await);
        }
        let plain = decompressed(Coding::Identity, Bytes::from("a"), BYTES_MAX, &share);
        assert_eq!(plain.await, Ok(Bytes::from("a")));
        let compressed = decompressed(Coding::Gzip, gzip(b"a").into(), BYTES_MAX, &share);
        let mut compressed = std::pin::pin!(compressed);
        let soon = Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, &mut compressed).await.is_err());
        places.pop();
        assert_eq!(compressed.await, Ok(Bytes::from("a")));
    }
}
