//! Secrets planted in texts that are made of the reader's own words.
//!
//! A test of a sign that tells a secret shows it alone. Agents print it behind other commands, in colours, within JSON that is a
//! text within JSON, and behind words that Eddy looks for elsewhere. So a secret is put anywhere into a text of such words, the
//! text into a call's arguments, its result or its error, or into what a model or an agent is asked and says, and nothing that is
//! told of it may show the secret. `EDDY_FUZZ=N` plants N times as many.

use eddy::normalize::Normalizer;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::made::{Dice, attribute, read, request, span, times};
use super::words::{Words, quoted};

/// Secrets that are planted.
const PLANTED: u64 = 20_000;

/// Of so many secrets one may be shown. By chance the words around it may be the beginning of a quoted text, of which it is the
/// end, or letters of the word that it is.
const SHOWN_ONE_IN: u64 = 10_000;

/// What is secret in all of them, and its part of a key in capitals.
const SECRET: &str = "Zq7Rk2Vx9Lm4Tn8Bw3Yc6Pd1Hs5Jf0Ga2Ue";
const CAPITALS: &str = "ZQ7RK2VX9LM4TN8B";

/// How many letters of a secret may not be shown.
const LETTERS: usize = 10;

/// How a secret stands in a text: by its look, behind its name, or told to a program.
const FORMS: [&str; 75] = [
    "ghp_SECRETQ",
    "AKIACAPITALS",
    "sk-ant-api03-SECRETSECRET",
    "xoxb-123456789012-1234567890123-SECRET",
    "password=SECRET",
    "Authorization: Bearer SECRET",
    "https://bob:SECRET@h.example/x",
    r#"{"password":"SECRET","n":1}"#,
    "curl -u bob:SECRET https://h.example",
    "export API_KEY='SECRET'",
    "api_key: SECRET",
    "mysql --password=SECRET db",
    "mysql -uroot -pSECRET db",
    "sshpass -p SECRET ssh h",
    "PGPASSWORD=SECRET psql -h h",
    "<password>SECRET</password>",
    "aws_secret_access_key = SECRET",
    r#"-H "X-Api-Key: SECRET""#,
    "Set-Cookie: session=SECRET; Path=/",
    "apiKey: 'SECRET',",
    "client_secret=SECRET&grant_type=a",
    r#"{\"auth_token\": \"SECRET\"}"#,
    "'secret_key' => 'SECRET'",
    "--token SECRET",
    "docker login -u bob -p SECRET",
    "redis-cli -a SECRET ping",
    "npm config set //r.example/:_authToken SECRET",
    "glpat-SECRET",
    "hf_SECRET",
    "npm_SECRETQ",
    "eyJhbGciOiJIUzI1NiJ9.SECRET.SECRET",
    "postgres://bob:SECRET@db.example:5432/x",
    "https://h.example/x?access_token=SECRET&a=b",
    "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----",
    "Authorization: token SECRET",
    "IDENTIFIED BY 'SECRET'",
    r#"["mysql","-uroot","-pSECRET","db"]"#,
    r#"{"headers":{"Authorization":"Bearer SECRET"}}"#,
    r#"{"env":[{"name":"API_KEY","value":"SECRET"}]}"#,
    r#"client = OpenAI(api_key="SECRET")"#,
    r#"os.environ["X_TOKEN"]="SECRET""#,
    r#"builder.withToken("SECRET")"#,
    "echo SECRET | docker login -u bob --password-stdin",
    r#"git -c http.extraheader="Authorization: Basic SECRET" pull"#,
    "openssl rsa -passout pass:SECRET -in a",
    "gpg --batch --passphrase SECRET -d a",
    "kubectl create secret generic b --from-literal=k=SECRET",
    "vault kv put a/b value=SECRET",
    "AccountName=a;AccountKey=SECRET;EndpointSuffix=b",
    "Server=h;User Id=a;Pwd=SECRET;",
    "redis://:SECRET@h:6379",
    "machine h.example login bob password SECRET",
    "docker run -e DB_PASSWORD=SECRET x",
    "github_pat_11ABCDEFG0SECRETSECRET",
    "AIzaSySECRETS",
    "SG.SECRETSECRET.SECRETSECRET",
    "ya29.SECRETSECRET",
    "whsec_SECRET",
    "ATATT3xFfGF0SECRETSECRETSECRET",
    "ssh-keygen -t ed25519 -N SECRET -f k",
    "ldapsearch -D cn=a -w SECRET -b dc=b",
    "heroku config:set API_KEY=SECRET",
    "gh secret set X --body SECRET",
    "az login --service-principal -u a -p SECRET --tenant b",
    "my password: SECRET",
    "The API key is SECRET.",
    r#"<input type="password" value="SECRET">"#,
    r#"<add key="ApiKey" value="SECRET" />"#,
    "X-API-KEY:SECRET",
    "const apiKey = `SECRET`;",
    r#"let password = String::from("SECRET");"#,
    r#"password := "SECRET""#,
    r#"$env:API_KEY = "SECRET""#,
    r#"ConvertTo-SecureString "SECRET" -AsPlainText -Force"#,
    "private_key: SECRET",
];

/// What parts a secret from the words before it, and from those behind.
const BEFORE: [&str; 11] = [
    " ",
    "\n",
    ", ",
    "; ",
    " \u{1b}[31m",
    "\r\n",
    "\t",
    "(",
    "[",
    "\u{a0}",
    "\n\n",
];
const BEHIND: [&str; 9] = [
    " ",
    "\n",
    "\n\n",
    ", ",
    "; ",
    "\r\n",
    "\t",
    ")",
    "\u{1b}[0m ",
];

/// How much may stand before a secret, in letters: what is left out of a text is not shown.
const LETTERS_BEFORE_MAX: usize = 400;

/// A text that has a secret somewhere.
fn with_secret(words: &Words, dice: &mut Dice) -> String {
    let form = dice.one(&FORMS).replace("SECRET", SECRET);
    let secret = form.replace("CAPITALS", CAPITALS);
    let [before, behind] = [(); 2].map(|()| {
        let is_alone = dice.once_in(3);
        if is_alone {
            String::new()
        } else {
            words.text(dice)
        }
    });
    let before: String = before.chars().take(LETTERS_BEFORE_MAX).collect();
    format!(
        "{before}{}{secret}{}{behind}",
        dice.one(&BEFORE),
        dice.one(&BEHIND)
    )
}

/// A call that was given a text, brought it, or failed by it.
fn call(text: &str, dice: &mut Dice) -> Span {
    let quoted = quoted(text);
    let (input, output) = match dice.below(6) {
        0 => (text.to_owned(), "ok".to_owned()),
        1 => (format!(r#"{{"command":{quoted}}}"#), "ok".to_owned()),
        2 => ("{}".to_owned(), text.to_owned()),
        3 => (
            "{}".to_owned(),
            format!(r#"{{"stdout":{quoted},"exit_code":1}}"#),
        ),
        4 => (
            "{}".to_owned(),
            format!(r#"[{{"type":"text","text":{quoted}}}]"#),
        ),
        _ => ("{}".to_owned(), String::new()),
    };
    let tool = *dice.one(&["bash", "python", "web_fetch"]);
    let is_failure = output.is_empty() || dice.once_in(3);
    let attributes = vec![
        attribute("gen_ai.operation.name", "execute_tool"),
        attribute("gen_ai.tool.name", tool),
        attribute("gen_ai.tool.call.arguments", &input),
        attribute("gen_ai.tool.call.result", &output),
    ];
    Span {
        status: is_failure.then(|| Status {
            code: 2,
            message: text.to_owned(),
        }),
        ..span(1, attributes)
    }
}

/// A model's answer, an agent, a hand-off or a question that has a text somewhere.
fn other(text: &str, dice: &mut Dice) -> Span {
    let json = quoted(text);
    let message = |role: &str, part: &str| format!(r#"[{{"role":"{role}","parts":[{part}]}}]"#);
    let said = format!(r#"{{"type":"text","content":{json}}}"#);
    let asked = format!(r#"{{"type":"tool_call","id":"c1","name":"bash","arguments":{json}}}"#);
    let told = format!(r#"{{"type":"tool_call_response","id":"c1","response":{json}}}"#);
    let attributes = match dice.below(8) {
        0 => vec![
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.input.messages", &message("user", &said)),
            attribute("gen_ai.output.messages", &message("assistant", &said)),
        ],
        1 => vec![
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.input.messages", &message("tool", &told)),
            attribute("gen_ai.output.messages", &message("assistant", &asked)),
        ],
        2 => vec![
            attribute("openinference.span.kind", "LLM"),
            attribute("input.value", text),
            attribute("output.value", text),
            attribute("llm.output_messages.0.message.content", text),
            attribute("llm.input_messages.0.message.role", "user"),
            attribute("llm.input_messages.0.message.content", text),
        ],
        3 => vec![
            attribute("openinference.span.kind", "AGENT"),
            attribute("agent.name", text),
            attribute("input.value", text),
            attribute("output.value", text),
        ],
        4 => vec![
            attribute("openinference.span.kind", "TOOL"),
            attribute("tool.name", "transfer_to_writer"),
            attribute("input.value", &format!(r#"{{"task":{json}}}"#)),
            attribute("output.value", text),
        ],
        5 => vec![
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", text),
            attribute("gen_ai.agent.name", text),
            attribute("gen_ai.conversation.id", "c"),
        ],
        6 => vec![
            attribute("traceloop.span.kind", "workflow"),
            attribute("traceloop.entity.name", text),
            attribute(
                "traceloop.entity.input",
                &format!(r#"{{"inputs":{{"question":{json}}}}}"#),
            ),
            attribute(
                "traceloop.entity.output",
                &format!(r#"{{"outputs":{json}}}"#),
            ),
        ],
        _ => vec![
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("gen_ai.agent.name", "writer"),
            attribute("gen_ai.input.messages", &message("user", &said)),
            attribute("gen_ai.request.model", text),
        ],
    };
    Span {
        status: dice.once_in(3).then(|| Status {
            code: 2,
            message: text.to_owned(),
        }),
        ..span(1, attributes)
    }
}

#[test]
fn planted_secrets_are_not_shown() {
    let planted = PLANTED * times();
    let words = Words::of_the_reader();
    let normalizer = Normalizer::new();
    let (mut shown, mut read_at_all) = (Vec::new(), 0);
    for number in 0..planted {
        let mut dice = Dice::of(number);
        let text = with_secret(&words, &mut dice);
        let mut reports = Vec::new();
        let span = match dice.below(3) {
            0 => other(&text, &mut dice),
            _ => call(&text, &mut dice),
        };
        let request = request(vec![span]);
        read(&normalizer, &request, false, &mut reports);
        read_at_all += reports.len() as u64;
        let told = format!("{reports:?}");
        let is_told = |secret: &str| told.contains(&secret[..LETTERS]);
        if is_told(SECRET) || is_told(&CAPITALS[1..]) {
            shown.push(format!("{number}: {text:?}\n  {told}"));
        }
    }
    assert!(
        read_at_all > planted * 9 / 10,
        "only {read_at_all} were read"
    );
    let most = planted / SHOWN_ONE_IN;
    assert!(shown.len() as u64 <= most, "{}", shown.join("\n"));
}
