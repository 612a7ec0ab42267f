//! What the address tells of its own services.

use std::collections::BTreeSet;
use std::time::Duration;

use prost::Message;
use prost_types::{FileDescriptorProto, MethodDescriptorProto};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest as Asked;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse as Answered;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};
use tonic_reflection::pb::v1alpha;
use tonic_reflection::pb::v1alpha::server_reflection_client::ServerReflectionClient as OlderClient;
use tonic_reflection::pb::v1alpha::server_reflection_request::MessageRequest as OlderAsked;

use super::{Fixture, Options, PATIENCE, Settings};

/// A client that asks one question after the other.
struct Asking {
    questions: mpsc::Sender<ServerReflectionRequest>,
    answers: Streaming<ServerReflectionResponse>,
}

impl Asking {
    async fn begin(eddy: &Fixture) -> Result<Self, Status> {
        let (questions, asked) = mpsc::channel(1);
        let mut client = ServerReflectionClient::new(eddy.channel().await);
        let answers = client.server_reflection_info(ReceiverStream::new(asked));
        let answers = answers.await?.into_inner();
        Ok(Self { questions, answers })
    }

    async fn ask(&mut self, question: Asked) -> Answered {
        let question = ServerReflectionRequest {
            message_request: Some(question),
            ..ServerReflectionRequest::default()
        };
        self.questions.send(question).await.unwrap();
        let answer = self.next().await.unwrap().expect("an answer");
        answer.message_response.unwrap()
    }

    async fn file(&mut self, question: Asked) -> FileDescriptorProto {
        let Answered::FileDescriptorResponse(answer) = self.ask(question).await else {
            panic!("no file");
        };
        let [file] = &answer.file_descriptor_proto[..] else {
            panic!("not one file");
        };
        FileDescriptorProto::decode(&file[..]).unwrap()
    }

    async fn next(&mut self) -> Result<Option<ServerReflectionResponse>, Status> {
        let next = timeout(PATIENCE, self.answers.message()).await;
        next.expect("in time")
    }
}

async fn reflecting(settings: Settings) -> Fixture {
    let settings = Settings {
        reflection: true,
        ..settings
    };
    Fixture::start_with(&Options::default(), settings).await
}

/// Given an address that was told nothing of it, there is no reflection.
#[tokio::test]
async fn reflection_is_off_by_default() {
    let eddy = Fixture::start().await;
    let refusal = Asking::begin(&eddy).await.err().expect("a refusal");
    assert_eq!(refusal.code(), Code::Unimplemented, "{refusal}");
}

/// Given an address that reflects, it lists what it serves, and describes each service by files that are all there, with the
/// manual that stands in them.
#[tokio::test]
async fn services_are_listed_and_described() {
    let eddy = reflecting(Settings::default()).await;
    let mut asking = Asking::begin(&eddy).await.unwrap();
    let listed = asking.ask(Asked::ListServices(String::new())).await;
    let Answered::ListServicesResponse(listed) = listed else {
        panic!("no list");
    };
    let mut names: Vec<_> = listed.service.into_iter().map(|one| one.name).collect();
    names.sort_unstable();
    let expected = [
        "eddy.v1.GuardService",
        "eddy.v1.RunService",
        "eddy.v1.WarningService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ];
    assert_eq!(names, expected);

    let mut wanted = Vec::new();
    for name in names {
        let file = asking.file(Asked::FileContainingSymbol(name.clone())).await;
        let package = file.package().to_owned();
        let served = |one: &str| format!("{package}.{one}") == name;
        assert!(file.service.iter().any(|one| served(one.name())), "{name}");
        wanted.extend(file.dependency);
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if seen.insert(name.clone()) {
            let file = asking.file(Asked::FileByFilename(name)).await;
            wanted.extend(file.dependency);
        }
    }
    assert!(seen.contains("google/protobuf/timestamp.proto"), "{seen:?}");

    let method = Asked::FileContainingSymbol("eddy.v1.RunService.WatchRun".to_owned());
    let file = asking.file(method).await;
    assert_eq!(file.name(), "eddy/v1/run_service.proto");
    let methods: Vec<_> = file.service[0]
        .method
        .iter()
        .map(MethodDescriptorProto::name)
        .collect();
    assert_eq!(methods, ["GetRun", "ListRuns", "WatchRun"]);
    let manual = file.source_code_info.expect("comments").location;
    assert!(manual.iter().any(|place| place.leading_comments.is_some()));
}

/// Given a client that knows the older version alone, it is answered as well, and may be as quiet.
#[tokio::test]
async fn the_older_version_answers() {
    let arrival_max = Duration::from_millis(20);
    let eddy = reflecting(Settings {
        arrival_max,
        ..Settings::default()
    })
    .await;
    let (questions, asked) = mpsc::channel(1);
    let mut client = OlderClient::new(eddy.channel().await);
    let answers = client.server_reflection_info(ReceiverStream::new(asked));
    let mut answers = answers.await.unwrap().into_inner();
    let quiet = timeout(arrival_max * 10, answers.message()).await;
    assert!(quiet.is_err(), "it goes on");
    let question = v1alpha::ServerReflectionRequest {
        message_request: Some(OlderAsked::ListServices(String::new())),
        ..v1alpha::ServerReflectionRequest::default()
    };
    questions.send(question).await.unwrap();
    let told = format!("{:?}", answers.message().await.unwrap());
    assert!(told.contains("eddy.v1.GuardService"), "{told}");
}

/// Given a name that there is not, the stream ends, and says why. That is wrong: by the protocol the answer is an `error_response`,
/// and the stream goes on. It is tonic-reflection's way; a client that begins another stream, as `grpcurl` does, gets its answers.
#[tokio::test]
async fn what_is_not_there_ends_the_stream() {
    let eddy = reflecting(Settings::default()).await;
    let mut asking = Asking::begin(&eddy).await.unwrap();
    let unknown = Asked::FileContainingSymbol("eddy.v1.Nothing".to_owned());
    let question = ServerReflectionRequest {
        message_request: Some(unknown),
        ..ServerReflectionRequest::default()
    };
    asking.questions.send(question).await.unwrap();
    let refusal = asking.next().await.expect_err("an end");
    assert_eq!(refusal.code(), Code::NotFound, "{refusal}");
    assert!(refusal.message().contains("eddy.v1.Nothing"), "{refusal}");
}

/// Given a stream that is quiet for longer than a question may take to arrive, it goes on.
#[tokio::test]
async fn a_reflection_may_be_quiet() {
    let arrival_max = Duration::from_millis(20);
    let eddy = reflecting(Settings {
        arrival_max,
        ..Settings::default()
    })
    .await;
    let mut asking = Asking::begin(&eddy).await.unwrap();
    let quiet = timeout(arrival_max * 10, asking.answers.message()).await;
    assert!(quiet.is_err(), "it goes on");
    asking.ask(Asked::ListServices(String::new())).await;
}

/// Given as many streams as may be open, one more is refused until one of them ends; all end when Eddy stops, without an error,
/// and then the address is done, although clients would ask more.
#[tokio::test]
async fn reflections_are_streams() {
    let eddy = reflecting(Settings {
        streams_max: 1,
        ..Settings::default()
    })
    .await;
    let first = Asking::begin(&eddy).await.unwrap();
    let refusal = Asking::begin(&eddy).await.err().expect("a refusal");
    assert_eq!(refusal.code(), Code::ResourceExhausted, "{refusal}");
    drop(first);
    let deadline = Instant::now() + PATIENCE;
    let mut asking = loop {
        match Asking::begin(&eddy).await {
            Ok(asking) => break asking,
            Err(refusal) => assert!(Instant::now() < deadline, "{refusal}"),
        }
        sleep(Duration::from_millis(5)).await;
    };
    asking.ask(Asked::ListServices(String::new())).await;
    eddy.shutdown.cancel();
    assert_eq!(asking.next().await.unwrap(), None);
    let served = timeout(PATIENCE, eddy.served).await.expect("in time");
    served.unwrap().unwrap();
}
