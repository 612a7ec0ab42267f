//! What is shown of a panic, whose text may hold anything that a sender sent.

use std::process::Command;

use eddy::telemetry::{self, LogFormat, LogLevel, Logs};

/// Tells a process that it is the one to panic.
const PANICS: &str = "EDDY_TEST_PANICS";

const SECRET: &str = "hunter2-and-a-half";

/// Given panics whose texts have a secret, one that is caught and one that ends a thread, of a process that logs as loudly as it
/// can: it says where they were, and nothing of the secret.
#[test]
fn what_a_panic_is_about_is_not_shown() {
    if std::env::var_os(PANICS).is_some() {
        let (level, format) = (LogLevel::Trace, LogFormat::Text);
        telemetry::start(Logs { level, format }, None).expect("there is no filter");
        let caught = std::panic::catch_unwind(|| panic!("no place in {SECRET}"));
        assert!(caught.is_err());
        let thread = std::thread::spawn(|| panic!("{SECRET}"));
        assert!(thread.join().is_err());
        return;
    }
    let output = Command::new(std::env::current_exe().expect("it runs"))
        .args(["--exact", "panics::what_a_panic_is_about_is_not_shown"])
        .arg("--nocapture")
        .env(PANICS, "1")
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let places = said.matches("tests/reliability/panics.rs:").count();
    assert_eq!(places, 2, "{said}");
    assert!(!said.contains(SECRET), "{said}");
}
