//! What was said in a run, as part of its saved state.

use crate::engine::bounded::BoundedVec;
use crate::engine::fold::speech::{Instruction, Said, Speech, Words};

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};

/// What was said; absent where nothing was. Numbers marked *s* are those of spans in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SpeechRecord {
    #[prost(message, repeated, tag = "1")]
    asked: Vec<InstructionRecord>,
    #[prost(uint64, tag = "2")]
    instructions: u64,
    #[prost(message, repeated, tag = "3")]
    said: Vec<SaidRecord>,
    #[prost(uint64, tag = "4")]
    silences: u64,
    #[prost(fixed64, repeated, tag = "5")]
    heard: Vec<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct InstructionRecord {
    #[prost(fixed64, tag = "1")]
    agent: u64,
    #[prost(fixed32, repeated, tag = "2")]
    words: Vec<u32>,
    /// *s*
    #[prost(uint32, tag = "3")]
    span: u32,
    #[prost(fixed64, tag = "4")]
    start_ns: u64,
    #[prost(fixed64, tag = "5")]
    end_ns: u64,
    #[prost(bool, tag = "6")]
    fruitful: bool,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct SaidRecord {
    #[prost(fixed64, tag = "1")]
    text: u64,
    #[prost(fixed64, tag = "2")]
    end_ns: u64,
    #[prost(fixed64, tag = "3")]
    agent: u64,
}

impl TablesWriter {
    pub(super) fn speech(&mut self, speech: &Speech) -> Option<SpeechRecord> {
        if *speech == Speech::default() {
            return None;
        }
        let Speech {
            asked,
            instructions,
            said,
            silences,
            heard,
        } = speech;
        Some(SpeechRecord {
            asked: asked.iter().map(|asked| self.asked(asked)).collect(),
            instructions: *instructions,
            said: said
                .iter()
                .map(|said| {
                    let Said {
                        text,
                        end_ns,
                        agent,
                    } = *said;
                    SaidRecord {
                        text,
                        end_ns,
                        agent,
                    }
                })
                .collect(),
            silences: *silences,
            heard: heard.iter().copied().collect(),
        })
    }

    fn asked(&mut self, asked: &Instruction) -> InstructionRecord {
        let Instruction {
            agent,
            words: Words(words),
            span,
            start_ns,
            end_ns,
            fruitful,
        } = asked;
        InstructionRecord {
            agent: *agent,
            words: words.to_vec(),
            span: self.span(*span),
            start_ns: *start_ns,
            end_ns: *end_ns,
            fruitful: *fruitful,
        }
    }
}

impl TablesReader {
    pub(super) fn speech(&self, record: SpeechRecord) -> Result<Speech, RecordError> {
        let asked = |asked: InstructionRecord| {
            Ok::<_, RecordError>(Instruction {
                agent: asked.agent,
                words: Words(asked.words.into_iter().collect::<BoundedVec<_, _>>()),
                span: self.span(asked.span)?,
                start_ns: asked.start_ns,
                end_ns: asked.end_ns,
                fruitful: asked.fruitful,
            })
        };
        let said = |said: SaidRecord| Said {
            text: said.text,
            end_ns: said.end_ns,
            agent: said.agent,
        };
        Ok(Speech {
            asked: record
                .asked
                .into_iter()
                .map(asked)
                .collect::<Result<_, _>>()?,
            instructions: record.instructions,
            said: record.said.into_iter().map(said).collect(),
            silences: record.silences,
            heard: record.heard.into_iter().collect(),
        })
    }
}
