//! `eddy.v1.GuardService`: requests are checked field by field, asked of the shards, and answered.
//!
//! Whatever is wrong with a request is said with the name of the field, and is never a verdict. What both sides, gRPC and
//! HTTP, have in common stands here; `verdicts_http` reads the JSON.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use super::admission::GUARD_BYTES_MAX;
use super::error::ApiError;
use super::grpc::corrected;
use super::queries::Api;
use super::v1;
use super::v1::guard_service_server::{GuardService, GuardServiceServer};
use crate::engine::warning::Rule;
use crate::json::dollars;
use crate::shard::guard::{GuardAnswer, GuardContext, GuardedCall, Outcome, Spoken};

/// Longest name or id in a request, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 1_024;

/// Longest arguments, result or message, in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 1 << 20;

/// The service, with its limit.
pub(super) fn server(api: Api) -> GuardServiceServer<Api> {
    GuardServiceServer::new(api).max_decoding_message_size(GUARD_BYTES_MAX)
}

impl Api {
    pub(super) async fn check_call(
        &self,
        request: &v1::CheckToolCallRequest,
    ) -> Result<v1::CheckToolCallResponse, ApiError> {
        let who = GuardContext {
            run_id: required("run_id", &request.run_id)?,
            agent: name("agent", request.agent.as_ref())?,
            worker: name("worker", request.worker.as_ref())?,
            session_id: name("session_id", request.session_id.as_ref())?,
            turn_id: name("turn_id", request.turn_id.as_ref())?,
            round_id: name("round_id", request.round_id.as_ref())?,
        };
        let call = GuardedCall {
            tool: required("tool", &request.tool)?,
            call_id: name("call_id", request.call_id.as_ref())?,
            arguments: value("arguments", request.arguments.as_ref())?,
            outcome: None,
        };
        Ok(match self.guard() {
            Some(shards) => shards.check(&who, &call).await.into(),
            // The store is being opened anew, and the agent goes on.
            None => GuardAnswer::degraded().into(),
        })
    }

    pub(super) async fn report_result(
        &self,
        request: &v1::ReportToolResultRequest,
    ) -> Result<v1::ReportToolResultResponse, ApiError> {
        let who = GuardContext {
            run_id: required("run_id", &request.run_id)?,
            agent: name("agent", request.agent.as_ref())?,
            worker: name("worker", request.worker.as_ref())?,
            ..GuardContext::default()
        };
        let call = GuardedCall {
            tool: required("tool", &request.tool)?,
            call_id: name("call_id", request.call_id.as_ref())?,
            arguments: value("arguments", request.arguments.as_ref())?,
            outcome: Some(outcome(request)?),
        };
        let shards = self.guard().ok_or(ApiError::NotTakenIn)?;
        let answer = shards.report(&who, &call).await;
        taken_in(&answer)?;
        Ok(v1::ReportToolResultResponse {})
    }

    pub(super) async fn report_message_of(
        &self,
        request: &v1::ReportMessageRequest,
    ) -> Result<v1::ReportMessageResponse, ApiError> {
        let who = GuardContext {
            run_id: required("run_id", &request.run_id)?,
            agent: name("agent", request.agent.as_ref())?,
            worker: name("worker", request.worker.as_ref())?,
            ..GuardContext::default()
        };
        let text = value("text", request.text.as_ref())?;
        let spoken = match v1::MessageKind::try_from(request.kind) {
            Ok(v1::MessageKind::Assistant) => Spoken::ByModel(text),
            Ok(v1::MessageKind::User) => Spoken::ByUser,
            _ => {
                let kinds = "must be MESSAGE_KIND_ASSISTANT or MESSAGE_KIND_USER";
                return Err(ApiError::invalid("kind", kinds));
            }
        };
        let shards = self.guard().ok_or(ApiError::NotTakenIn)?;
        let answer = shards.message(&who, spoken).await;
        taken_in(&answer)?;
        Ok(v1::ReportMessageResponse {
            message: answer.verdict.message,
        })
    }

    pub(super) fn guard_totals(&self) -> Result<v1::GetTotalsResponse, ApiError> {
        let shards = self.shards()?;
        let counters = &shards.counters().guard;
        let verdicts = counters.verdicts().filter(|(_, _, count)| *count > 0);
        Ok(v1::GetTotalsResponse {
            verdicts: verdicts
                .map(|(rule, kind, count)| v1::VerdictCount {
                    rule: rule.map_or("", Rule::name).to_owned(),
                    verdict: v1::Verdict::from(kind).into(),
                    count,
                })
                .collect(),
            degraded: counters.degraded() + self.unasked().value(),
            skipped_calls: counters.saved_calls.value(),
            saved_tokens_estimate: counters.saved_tokens.value(),
            saved_cost_usd_estimate: dollars(counters.saved_cost_microusd.value()),
        })
    }

    async fn answer_in_session(&self, request: v1::SessionRequest) -> v1::SessionResponse {
        use v1::session_request::Kind as Asked;
        use v1::session_response::Kind as Answered;
        let answered = match &request.kind {
            Some(Asked::Check(check)) => self.check_call(check).await.map(Answered::Check),
            Some(Asked::Report(report)) => self.report_result(report).await.map(Answered::Report),
            Some(Asked::Message(message)) => {
                self.report_message_of(message).await.map(Answered::Message)
            }
            None => Err(ApiError::invalid(
                "kind",
                "is missing; give check, report or message",
            )),
        };
        v1::SessionResponse {
            id: request.id,
            kind: Some(answered.unwrap_or_else(|error| Answered::Error(session_error(&error)))),
        }
    }
}

#[tonic::async_trait]
impl GuardService for Api {
    async fn check_tool_call(
        &self,
        request: Request<v1::CheckToolCallRequest>,
    ) -> Result<Response<v1::CheckToolCallResponse>, Status> {
        Ok(Response::new(self.check_call(request.get_ref()).await?))
    }

    async fn report_tool_result(
        &self,
        request: Request<v1::ReportToolResultRequest>,
    ) -> Result<Response<v1::ReportToolResultResponse>, Status> {
        Ok(Response::new(self.report_result(request.get_ref()).await?))
    }

    async fn report_message(
        &self,
        request: Request<v1::ReportMessageRequest>,
    ) -> Result<Response<v1::ReportMessageResponse>, Status> {
        Ok(Response::new(
            self.report_message_of(request.get_ref()).await?,
        ))
    }

    async fn get_totals(
        &self,
        _: Request<v1::GetTotalsRequest>,
    ) -> Result<Response<v1::GetTotalsResponse>, Status> {
        Ok(Response::new(self.guard_totals()?))
    }

    type SessionStream = Pin<Box<dyn Stream<Item = Result<v1::SessionResponse, Status>> + Send>>;

    async fn session(
        &self,
        requests: Request<Streaming<v1::SessionRequest>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let permit = self.stream_permit()?;
        let shutdown = self.readiness.shutdown.clone().cancelled_owned();
        let api = self.clone();
        let answers = requests.into_inner().then(move |request| {
            let api = api.clone();
            async move { Ok(api.answer_in_session(request.map_err(corrected)?).await) }
        });
        let answers = answers.map(move |answer| {
            let _held = &permit;
            answer
        });
        Ok(Response::new(Box::pin(answers.take_until(shutdown))))
    }
}

fn outcome(request: &v1::ReportToolResultRequest) -> Result<Outcome<'_>, ApiError> {
    let [result, message, error] = [
        value("result", request.result.as_ref())?,
        value("message", request.message.as_ref())?,
        value("error", request.error.as_ref())?,
    ];
    let misplaced = |field: &'static str, text: Option<&str>, status: &str| match text {
        Some(_) => Err(ApiError::invalid(
            field,
            format!("is given only with status {status}"),
        )),
        None => Ok(()),
    };
    let status = v1::ResultStatus::try_from(request.status).unwrap_or_default();
    if status != v1::ResultStatus::Success {
        misplaced("result", result, "success")?;
    }
    if status != v1::ResultStatus::SuccessNoData {
        misplaced("message", message, "success_no_data")?;
    }
    if status != v1::ResultStatus::Error {
        misplaced("error", error, "error")?;
    }
    match status {
        v1::ResultStatus::Success => Ok(Outcome::Success(result)),
        v1::ResultStatus::SuccessNoData => Ok(Outcome::NoData(message)),
        v1::ResultStatus::Error => Ok(Outcome::Error(error.unwrap_or_default())),
        v1::ResultStatus::Unspecified => Err(ApiError::invalid(
            "status",
            "must be RESULT_STATUS_SUCCESS, RESULT_STATUS_SUCCESS_NO_DATA or RESULT_STATUS_ERROR",
        )),
    }
}

/// A name that must be there.
fn required<'a>(field: &'static str, text: &'a str) -> Result<&'a str, ApiError> {
    if text.trim().is_empty() {
        return Err(ApiError::invalid(field, "is missing or empty"));
    }
    bounded(field, text, NAME_BYTES_MAX)
}

/// A name that may be there. An empty one is none.
fn name<'a>(field: &'static str, text: Option<&'a String>) -> Result<Option<&'a str>, ApiError> {
    let text = text.filter(|text| !text.trim().is_empty());
    text.map(|text| bounded(field, text, NAME_BYTES_MAX))
        .transpose()
}

fn value<'a>(field: &'static str, text: Option<&'a String>) -> Result<Option<&'a str>, ApiError> {
    text.map(|text| bounded(field, text, VALUE_BYTES_MAX))
        .transpose()
}

fn bounded<'a>(field: &'static str, text: &'a str, most: usize) -> Result<&'a str, ApiError> {
    if text.len() > most {
        let problem = format!("has {} bytes; at most {most} are taken", text.len());
        return Err(ApiError::invalid(field, problem));
    }
    Ok(text)
}

fn taken_in(answer: &GuardAnswer) -> Result<(), ApiError> {
    if answer.degraded {
        return Err(ApiError::NotTakenIn);
    }
    Ok(())
}

fn session_error(error: &ApiError) -> v1::SessionError {
    let (field, problem) = match error {
        ApiError::Invalid { field, problem } => (field.clone().into_owned(), problem.clone()),
        other => (String::new(), other.to_string()),
    };
    v1::SessionError { field, problem }
}
