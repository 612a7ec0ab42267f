//! A tool loop with Eddy's guard in it.
//!
//! ```sh
//! eddy                                     # in another terminal
//! cargo run --example guarded_agent
//! ```
//!
//! The model here is a stub that asks the same thing again and again until a call of it is refused. A real one would be told
//! `message` as part of the conversation.

use std::error::Error;
use std::fs;

use eddy::guard::{CheckToolCallRequest, Client, ReportToolResultRequest, ResultStatus, Verdict};

const TOOL: &str = "forecast";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let api = std::env::var("EDDY_API").unwrap_or_else(|_| "127.0.0.1:4319".to_owned());
    println!("calls made: {}", calls_made(&api).await?);
    Ok(())
}

/// Goes in circles until it is led out, and says how many calls that took.
pub(crate) async fn calls_made(api: &str) -> Result<u32, Box<dyn Error>> {
    let api = if api.contains("://") {
        api.to_owned()
    } else {
        format!("http://{api}")
    };
    let mut guard = Client::new(&api)?;
    // The token, where the daemon asks for one.
    if let Ok(file) = std::env::var("EDDY_API_TOKEN_FILE") {
        guard = guard.with_token(fs::read_to_string(file)?.trim())?;
    }
    // As many runs as there are processes.
    let run = format!("example-rust-{}", std::process::id());
    let mut made = 0;
    for turn in 0..30 {
        let call_id = format!("call-{turn}");
        let arguments = r#"{"city": "Bergen"}"#;
        let answer = guard
            .check(CheckToolCallRequest {
                run_id: run.clone(),
                tool: TOOL.to_owned(),
                arguments: Some(arguments.to_owned()),
                call_id: Some(call_id.clone()),
                ..CheckToolCallRequest::default()
            })
            .await?;
        let message = answer.message.as_deref().unwrap_or_default();
        match answer.verdict() {
            Verdict::Skip | Verdict::Abort => {
                println!("{call_id}: not made: {message}");
                break;
            }
            Verdict::Nudge => println!("{call_id}: {message}"),
            Verdict::Allow | Verdict::Unspecified => println!("{call_id}: made"),
        }
        made += 1;
        guard
            .report(ReportToolResultRequest {
                run_id: run.clone(),
                tool: TOOL.to_owned(),
                call_id: Some(call_id),
                status: ResultStatus::Success.into(),
                result: Some(format!("no forecast for {arguments}")),
                ..ReportToolResultRequest::default()
            })
            .await?;
    }
    Ok(made)
}
