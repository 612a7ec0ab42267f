//! Reads what was packed, from memory or from a disk.

use crate::engine::event::{
    AgentSpan, Answer, Body, Command, Event, Failure, Guarded, Handoff, ITEMS_MAX, Manner,
    ModelCall, NUMBERS_MAX, Nudge, Numbers, Part, Recorded, RunEnd, SpanId, Text, ToolCall,
    TraceId, Traits, Value,
};
use crate::engine::warning::Rule;
use crate::engine::window::card::{CALL_ID, CONTENT, Card, Kind, QUESTION, kind};
use crate::engine::window::traces::TraceNumber;

use super::{
    ANSWERS, DENIES, EMPTY, FAILURE, HANDS_OFF, HAS_MAIN, ITEMS_SHIFT, LOOKS, MASKED, NO_FAILURE,
    NOT_RECORDED, PARTS, PENDING, RECORDED, REDACTED, REFUSES, Sample, TESTS_FAILED, TRANSIENT,
    WRITES,
};

/// Bytes that are no report.
#[derive(Debug)]
pub(crate) struct NoReport;

type Read<T> = Result<T, NoReport>;

/// Reads what was packed.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// The sample of a tool's arguments, where it lies apart.
    sample: Option<&'a Text>,
    /// Names that were read before: reports of one run share them.
    names: Vec<Text>,
}

const FRAME_BYTES: usize = size_of::<u32>();
const NUMBER_BYTES: usize = size_of::<f64>();
const ITEM_BYTES: usize = size_of::<u16>();

/// The numbers of a result as [`put_numbers`](super::put_numbers) wrote them; nothing where these bytes are none.
pub(crate) fn numbers_in(bytes: &[u8]) -> Option<Numbers> {
    let (frame, bytes) = bytes.split_first_chunk()?;
    let (words, []) = bytes.as_chunks::<NUMBER_BYTES>() else {
        return None;
    };
    let mut all = [0.0; NUMBERS_MAX];
    all.get_mut(..words.len())?.fill_with({
        let mut words = words.iter().copied();
        move || words.next().map_or(0.0, f64::from_le_bytes)
    });
    Some(Numbers {
        frame: u32::from_le_bytes(*frame),
        count: u8::try_from(words.len()).ok().filter(|count| *count > 0)?,
        all,
    })
}

/// The items of a result as [`put_items`](super::put_items) wrote them, no more than it may have.
pub(crate) fn items_in(bytes: &[u8]) -> Box<[u16]> {
    let (items, _) = bytes.as_chunks();
    let items = items.iter().copied().map(u16::from_le_bytes);
    items.take(ITEMS_MAX).collect()
}

/// What a command does, by its number ([`command_number`](super::command_number)).
pub(crate) fn command_numbered(number: u32) -> Read<Option<Command>> {
    Ok(match number {
        0 => None,
        1 => Some(Command::Other),
        2 => Some(Command::ReadsFile),
        3 => Some(Command::WritesFile),
        4 => Some(Command::EditsFile),
        5 => Some(Command::RunsTests),
        _ => return Err(NoReport),
    })
}

/// Most names that are remembered while reading.
const NAMES_MAX: usize = 8;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            sample: None,
            names: Vec::new(),
        }
    }

    /// Goes on with a report from memory, whose sample lies apart.
    pub(crate) fn turn_to(&mut self, packed: &'a [u8], sample: Option<&'a Sample>) {
        self.bytes = packed;
        self.sample = sample.map(|sample| &sample.text);
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A card as [`pack_card`](super::pack_card) wrote it, but for what the rest tells of the tool, and its trace.
    pub(crate) fn card(&mut self, before: TraceId) -> Read<(Card, TraceId)> {
        let number = usize::from(self.byte()?);
        let kind = *Kind::ALL.get(number).ok_or(NoReport)?;
        let marks = self.byte()?;
        let id = self.fixed()?;
        let trace = match self.byte()? {
            0 => before,
            _ => TraceId(self.array()?),
        };
        let (span, parent) = (SpanId(self.array()?), SpanId(self.array()?));
        let start_ns = self.fixed()?;
        let end_ns = start_ns.wrapping_add(self.number()?);
        let mut ids = [0; 3];
        for place in [CALL_ID, CONTENT, QUESTION] {
            if marks & 1 << place != 0 {
                ids[place] = self.fixed()?;
            }
        }
        let card = Card {
            id,
            trace: TraceNumber::NONE,
            span,
            parent,
            start_ns,
            end_ns,
            tool: 0,
            ids,
            kind,
            marks,
        };
        Ok((card, trace))
    }

    /// The report of a card and a trace, from what [`pack`](super::pack) wrote behind them.
    pub(crate) fn event(&mut self, card: &Card, trace: TraceId) -> Read<Event> {
        let (agent, worker) = (self.name()?, self.name()?);
        let body = match card.kind {
            Kind::Tool => Body::ToolCall(self.tool(card)?),
            Kind::Requested => Body::Requested(self.tool(card)?),
            Kind::Model => Body::ModelCall(self.model(card)?),
            Kind::Agent => Body::AgentSpan(AgentSpan {
                name: self.shared()?,
                input: self.recorded()?,
                output: self.recorded()?,
            }),
            Kind::Handoff => Body::Handoff(Handoff {
                from: self.name()?,
                to: self.shared()?,
            }),
            Kind::StateUpdate => Body::StateUpdate,
            Kind::MemoryWrite => Body::MemoryWrite,
            Kind::Retry => Body::Retry { tool: self.name()? },
            Kind::UserMessage => Body::UserMessage,
            Kind::End => Body::RunEnd(RunEnd {
                error: self.failure()?,
            }),
            Kind::Nudge => Body::Nudge(Nudge {
                rule: self.rule()?,
                group: self.fixed()?,
                count: self.number()?,
                worker: self.fixed()?,
                answered: card.answered(),
            }),
        };
        debug_assert_eq!(kind(&body), card.kind);
        Ok(Event {
            id: card.id,
            trace,
            span: card.span,
            parent: card.parent,
            start_ns: card.start_ns,
            end_ns: card.end_ns,
            agent,
            worker,
            body,
        })
    }

    fn tool(&mut self, card: &Card) -> Read<ToolCall> {
        let marks = self.byte()?;
        let main = if marks & HAS_MAIN == 0 {
            None
        } else {
            Some(self.fixed()?)
        };
        let command = command_numbered(self.byte()?.into())?;
        let manner = match marks & (WRITES | LOOKS) {
            0 => Manner::Unknown,
            LOOKS => Manner::Looks,
            WRITES => Manner::Writes,
            _ => Manner::Plans,
        };
        Ok(ToolCall {
            tool: self.shared()?,
            call_id: card.call_id(),
            input: self.input(card.content().unwrap_or(0))?,
            output: self.recorded()?,
            error: self.failure()?,
            hands_off: marks & HANDS_OFF != 0,
            manner,
            traits: Traits {
                main,
                command,
                tests_failed: marks & TESTS_FAILED != 0,
            },
            guarded: match card.question() {
                Some(asked) => Some(Box::new(self.guarded(asked)?)),
                None => None,
            },
        })
    }

    fn guarded(&mut self, asked: u64) -> Read<Guarded> {
        let part = match self.byte()? {
            0 => Part::Question,
            1 => Part::Skipped(self.rule()?),
            2 => Part::Aborted(self.rule()?),
            3 => Part::Result,
            _ => return Err(NoReport),
        };
        Ok(Guarded {
            asked,
            part,
            round: self.fixed()?,
            turn: self.fixed()?,
        })
    }

    fn model(&mut self, card: &Card) -> Read<ModelCall> {
        let model = self.name()?;
        let (input_tokens, cached_tokens) = (self.number()?, self.number()?);
        let output_tokens = self.number()?;
        let stated = self.byte()?;
        let cost_microusd = if stated == 0 {
            None
        } else {
            Some(self.number()?)
        };
        let answer = match self.byte()? {
            0 => Answer::Unknown,
            1 => Answer::ToolCalls(self.small_number()?),
            2 => Answer::Text(card.content()),
            _ => return Err(NoReport),
        };
        Ok(ModelCall {
            model,
            call_id: card.call_id(),
            witness: card.witness(),
            input_tokens,
            cached_tokens,
            output_tokens,
            cost_microusd,
            cost_is_estimate: stated == 2,
            answer,
            error: self.failure()?,
        })
    }

    fn input(&mut self, fingerprint: u64) -> Read<Recorded> {
        let apart = self.sample.take();
        self.value(Some(fingerprint), apart)
    }

    fn recorded(&mut self) -> Read<Recorded> {
        self.value(None, None)
    }

    /// A value, of which fingerprint and sample may be known from elsewhere.
    fn value(&mut self, fingerprint: Option<u64>, apart: Option<&Text>) -> Read<Recorded> {
        let marks = self.byte()?;
        match marks & 3 {
            NOT_RECORDED => return Ok(Recorded::NotRecorded),
            REDACTED => return Ok(Recorded::Redacted),
            RECORDED => {}
            _ => return Err(NoReport),
        }
        let fingerprint = match fingerprint {
            Some(fingerprint) => fingerprint,
            None => self.fixed()?,
        };
        let masked = if marks & MASKED == 0 {
            fingerprint
        } else {
            self.fixed()?
        };
        let bytes = self.small_number()?;
        let sample = match apart {
            Some(sample) => sample.clone(),
            None => self.text()?.into(),
        };
        let counts = if marks & PARTS == 0 { 0 } else { self.byte()? };
        let numbers = self.numbers(counts & ((1 << ITEMS_SHIFT) - 1))?;
        let items = self.items((counts & !ANSWERS) >> ITEMS_SHIFT)?;
        Ok(Recorded::Value(Value {
            fingerprint,
            masked,
            bytes,
            empty: marks & EMPTY != 0,
            pending: marks & PENDING != 0,
            denies: marks & DENIES != 0,
            refuses: marks & REFUSES != 0,
            answers: counts & ANSWERS != 0,
            sample,
            numbers,
            items,
        }))
    }

    fn numbers(&mut self, count: u8) -> Read<Option<Box<Numbers>>> {
        if count == 0 {
            return Ok(None);
        }
        let numbers = self.some_bytes(FRAME_BYTES + usize::from(count) * NUMBER_BYTES)?;
        let numbers = numbers_in(numbers).ok_or(NoReport)?;
        Ok(Some(Box::new(numbers)))
    }

    fn items(&mut self, count: u8) -> Read<Box<[u16]>> {
        let items = self.some_bytes(usize::from(count) * ITEM_BYTES)?;
        Ok(items_in(items))
    }

    fn some_bytes(&mut self, count: usize) -> Read<&'a [u8]> {
        let (some, rest) = self.bytes.split_at_checked(count).ok_or(NoReport)?;
        self.bytes = rest;
        Ok(some)
    }

    fn failure(&mut self) -> Read<Option<Failure>> {
        let transient = match self.byte()? {
            NO_FAILURE => return Ok(None),
            FAILURE => false,
            TRANSIENT => true,
            _ => return Err(NoReport),
        };
        Ok(Some(Failure {
            masked: self.fixed()?,
            text: self.text()?.into(),
            transient,
        }))
    }

    fn rule(&mut self) -> Read<Rule> {
        Rule::named(self.text()?).ok_or(NoReport)
    }

    /// A name that may be absent.
    fn name(&mut self) -> Read<Option<Text>> {
        match self.number()? {
            0 => Ok(None),
            length => Ok(Some(self.shared_text(length - 1)?)),
        }
    }

    /// A name that is there.
    fn shared(&mut self) -> Read<Text> {
        let length = self.number()?;
        self.shared_text(length)
    }

    fn shared_text(&mut self, length: u64) -> Read<Text> {
        let text = self.text_of(length)?;
        if let Some(known) = self.names.iter().find(|known| ***known == *text) {
            return Ok(known.clone());
        }
        let name = Text::from(text);
        if self.names.len() == NAMES_MAX {
            self.names.remove(0);
        }
        self.names.push(name.clone());
        Ok(name)
    }

    fn text(&mut self) -> Read<&'a str> {
        let length = self.number()?;
        self.text_of(length)
    }

    fn text_of(&mut self, length: u64) -> Read<&'a str> {
        let length = usize::try_from(length).map_err(|_| NoReport)?;
        let (text, rest) = self.bytes.split_at_checked(length).ok_or(NoReport)?;
        self.bytes = rest;
        std::str::from_utf8(text).map_err(|_| NoReport)
    }

    fn byte(&mut self) -> Read<u8> {
        let (first, rest) = self.bytes.split_first().ok_or(NoReport)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn array<const LENGTH: usize>(&mut self) -> Read<[u8; LENGTH]> {
        let (array, rest) = self.bytes.split_first_chunk().ok_or(NoReport)?;
        self.bytes = rest;
        Ok(*array)
    }

    fn fixed(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn small_number(&mut self) -> Read<u32> {
        u32::try_from(self.number()?).map_err(|_| NoReport)
    }

    fn number(&mut self) -> Read<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(NoReport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given bytes that are no numbers, they are not taken for some.
    #[test]
    fn other_bytes_are_no_numbers() {
        for length in [0, 4, 5, 11, 4 + 7 * 8] {
            assert_eq!(numbers_in(&vec![1; length]), None, "{length}");
        }
        assert!(numbers_in(&[1; 4 + 6 * 8]).is_some());
    }
}
