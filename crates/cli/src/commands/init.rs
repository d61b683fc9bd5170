//! `brimful init`: a scenario of one's own, from a few answers.

use crate::failure::Failure;
use crate::output::{called, complain};
use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use scenario::Overrides;
use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};
use std::path::{Path, PathBuf};

/// Below the options in the help.
pub(crate) const INIT_HELP: &str = "\
In a terminal, and with --ask, it asks for what no option states; an empty answer is the default. The file stands by
itself: it has a knob for the round-trip time, the proxy, what is not split, and the congestion control. For a second
user, another carrier, a base station's buffer, an upload and more, docs/guide/recipes.md has files of a few lines.

Examples:
  brimful init --trace drive.csv --traffic download,call,quic
  brimful init my5g.toml --radio 5g --question queue

Exit codes: 0 done, 2 bad usage or input (nothing written), 1 cannot be written.";

/// Options of `init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// File to write; it must not be there yet
    #[arg(default_value = "scenario.toml")]
    file: PathBuf,
    /// Radio trace that drives the cell, in any format that `brimful trace info` reads
    #[arg(long, value_name = "FILE", conflicts_with = "radio")]
    trace: Option<PathBuf>,
    /// A cell without a trace
    #[arg(long, value_enum)]
    radio: Option<Radio>,
    /// What the user does, separated by commas [default: download,pages,call]
    #[arg(long, value_enum, value_delimiter = ',')]
    traffic: Vec<Traffic>,
    /// What is to be found out [default: proxy]
    #[arg(long, value_enum)]
    question: Option<Question>,
    /// Ask on stdin, a line each, for what no option states, also where it is no terminal
    #[arg(long)]
    ask: bool,
}

/// Cells without a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Radio {
    /// LTE, 5 MHz: at most 16 Mbit/s
    #[value(name = "4g")]
    Lte,
    /// NR at 3.5 GHz, 100 MHz: at most 590 Mbit/s
    #[value(name = "5g")]
    Nr,
}

/// What a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Traffic {
    /// A TCP download that does not end
    Download,
    /// Web pages of 500 kB, one every two seconds
    Pages,
    /// A voice call
    Call,
    /// Adaptive video
    Video,
    /// A QUIC download, which no proxy can split
    Quic,
}

/// What is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Question {
    /// What does the proxy change?
    Proxy,
    /// What does it change for what it cannot split?
    Unsplit,
    /// What does the queue in the base station change?
    Queue,
    /// What does the congestion control change?
    Cc,
}

/// What the file is made of.
struct Answers {
    radio: Source,
    traffic: Vec<Traffic>,
    question: Question,
}

/// Where the radio's rate comes from.
enum Source {
    /// As the scenario names it.
    Trace(String),
    Cell(Radio),
}

/// Writes the file, after a look whether it can be run.
pub(crate) fn run(arguments: &InitArgs) -> Result<(), Failure> {
    let file = &arguments.file;
    if file.exists() {
        let problem = anyhow!("{}: is there already; name another file", file.display());
        return Err(Failure::Input(problem));
    }
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let problem = anyhow!("there is no folder {}", folder.display());
        return Err(Failure::Input(problem));
    }
    let asks = arguments.ask || (stdin().is_terminal() && stderr().is_terminal());
    let answers = answers(arguments, folder, asks)?;
    let name = file
        .file_stem()
        .map_or("scenario".into(), |stem| stem.to_string_lossy());
    let text = text(&name, &answers);
    // beside its place, for the trace's path is relative to it
    let mut written = tempfile::Builder::new()
        .prefix(".init-")
        .suffix(".toml")
        .tempfile_in(folder)
        .with_context(|| format!("{}: cannot be written", folder.display()))
        .map_err(Failure::Run)?;
    written
        .write_all(text.as_bytes())
        .context("the scenario cannot be written")
        .map_err(Failure::Run)?;
    scenario::load(written.path(), &Overrides::default()).map_err(Failure::input)?;
    written
        .persist_noclobber(file)
        .map_err(|error| Failure::Run(anyhow!("{}: {}", file.display(), error.error)))?;
    let about = answers.in_words();
    complain(&format!("{} is written: {about}. Next:", file.display()));
    let vary = answers.question.vary(&answers.traffic);
    complain(&format!(
        "  {} compare {} --vary {vary} --repeats 5",
        called(),
        file.display()
    ));
    complain("Further users, carriers, buffers and uploads: docs/guide/recipes.md");
    Ok(())
}

impl Answers {
    /// The radio and what the user does, in which defaults show.
    fn in_words(&self) -> String {
        let radio = match &self.radio {
            Source::Trace(file) => format!("the trace {file}"),
            Source::Cell(Radio::Lte) => "a 4G cell of 5 MHz".to_owned(),
            Source::Cell(Radio::Nr) => "a 5G cell of 100 MHz".to_owned(),
        };
        let values = self.traffic.iter().filter_map(ValueEnum::to_possible_value);
        let flows: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        format!("{radio}, one user with {}", flows.join(", "))
    }
}

impl Question {
    /// What `compare` varies for it.
    fn vary(self, traffic: &[Traffic]) -> String {
        let has_quic = traffic.contains(&Traffic::Quic);
        match self {
            Self::Proxy if has_quic => "pep=none,default --vary unsplit=off,mark".to_owned(),
            Self::Proxy => "pep=none,default".to_owned(),
            Self::Unsplit => "unsplit=off,mark,queue".to_owned(),
            Self::Queue => "queue=drop-tail,codel,default".to_owned(),
            Self::Cc => "cc=cubic,bbr".to_owned(),
        }
    }
}

/// What the options state, and what the user answers.
fn answers(arguments: &InitArgs, folder: &Path, asks: bool) -> Result<Answers, Failure> {
    let given = &arguments.traffic;
    let trace = |path: &Path| relative(path, folder).map(Source::Trace);
    let radio = match (&arguments.trace, arguments.radio) {
        (Some(path), _) => trace(path)?,
        (None, Some(radio)) => Source::Cell(radio),
        (None, None) if asks => {
            match asked("Radio: a trace file, or 4g or 5g without one [4g]: ")?.as_str() {
                "" => Source::Cell(Radio::Lte),
                answer => match Radio::from_str(answer, true) {
                    Ok(radio) => Source::Cell(radio),
                    Err(_) => trace(Path::new(answer))?,
                },
            }
        }
        (None, None) => Source::Cell(Radio::Lte),
    };
    let mut traffic = given.clone();
    if given.is_empty() && asks {
        let answer =
            asked("Traffic: some of download, pages, call, video, quic [download,pages,call]: ")?;
        let words = answer.split([',', ' ']).filter(|word| !word.is_empty());
        traffic = words.map(word).collect::<Result<_, _>>()?;
    }
    if traffic.is_empty() {
        traffic = vec![Traffic::Download, Traffic::Pages, Traffic::Call];
    }
    let question = match arguments.question {
        Some(question) => question,
        None if asks => {
            let prompt = "Question: what does the proxy, unsplit, queue or cc change? [proxy]: ";
            match asked(prompt)?.as_str() {
                "" => Question::Proxy,
                answer => word(answer)?,
            }
        }
        None => Question::Proxy,
    };
    let mut answers = Answers {
        radio,
        traffic,
        question,
    };
    let mut seen = Vec::new();
    answers.traffic.retain(|kind| {
        let is_new = !seen.contains(kind);
        seen.push(*kind);
        is_new
    });
    Ok(answers)
}

/// One of the words of a list.
fn word<T: ValueEnum>(answer: &str) -> Result<T, Failure> {
    T::from_str(answer, true).map_err(|_| {
        let words = T::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value);
        let words: Vec<String> = words.map(|value| value.get_name().to_owned()).collect();
        Failure::Input(anyhow!(
            "\"{answer}\": expected one of {}",
            words.join(", ")
        ))
    })
}

/// A line of stdin; at its end, nothing.
fn asked(prompt: &str) -> Result<String, Failure> {
    let mut out = stderr().lock();
    let _ = write!(out, "{prompt}").and_then(|()| out.flush());
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    read.context("stdin").map_err(Failure::Run)?;
    Ok(line.trim().to_owned())
}

/// The trace as the scenario's folder has it: relative where it lies below, else absolute.
fn relative(path: &Path, folder: &Path) -> Result<String, Failure> {
    let missing = |error| Failure::Input(anyhow!("{}: {error}", path.display()));
    let whole = path.canonicalize().map_err(missing)?;
    let below = folder.canonicalize().ok();
    let below = below.and_then(|folder| whole.strip_prefix(folder).map(Path::to_owned).ok());
    let named = below.unwrap_or(whole);
    let text = named.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Input(anyhow!("{}: a name that is not UTF-8", path.display())))
}

/// A text in quotes as TOML has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The scenario.
fn text(name: &str, answers: &Answers) -> String {
    let mut out = format!(
        "# Written by `brimful init`. Every key: `brimful scenario keys`; knobs are turned by --set and --vary.\n\
         name = {}\n\
         description = \"A user of a radio link\"\n\
         duration = \"60 s\"\n\n\
         [knobs.rtt]\n\
         default = \"50 ms\"\n\
         sets = [\"path.rtt\"]\n\
         description = \"Base round-trip time from end to end, the radio included\"\n\n\
         [knobs.pep]\n\
         default = \"none\"\n\
         one-of = [\"none\", \"split\", \"paper\", \"default\"]\n\
         sets = [\"pep.mode\"]\n\
         description = \"Proxy at the edge: none, split without a look at the radio, RAPID's equations (paper), ours (default)\"\n\n\
         [knobs.unsplit]\n\
         default = \"off\"\n\
         one-of = [\"off\", \"mark\", \"queue\"]\n\
         sets = [\"pep.unsplit\"]\n\
         description = \"What the proxy does not split: it passes, is marked, or waits at the edge\"\n\n",
        quoted(name)
    );
    let flows = answers.traffic.iter().filter_map(|kind| kind.controlled());
    let controlled: Vec<String> = flows.map(|flow| format!("\"flow.{flow}.cc\"")).collect();
    if !controlled.is_empty() {
        let _ = write!(
            out,
            "[knobs.cc]\n\
             default = \"cubic\"\n\
             sets = [{}]\n\
             description = \"Congestion control of the servers\"\n\n",
            controlled.join(", ")
        );
    }
    if answers.question == Question::Queue {
        out.push_str(
            "[knobs.queue]\n\
             default = \"drop-tail\"\n\
             one-of = [\"drop-tail\", \"codel\", \"fq-codel\", \"dualpi2\", \"drql\", \"5g-bdp\", \"default\"]\n\
             sets = [\"cell.queues.rlc.algorithm\"]\n\
             description = \"Queue management in the base station's RLC\"\n\n",
        );
    }
    out.push_str(
        "[path]\n\
         # The wire between servers and base station; it never fills.\n\
         rate = \"10 Gbit/s\"\n\
         buffer = \"25 MB\"\n\
         # A radio takes some time itself; a shorter round-trip time is taken as that.\n\
         rtt-too-short = \"raise\"\n\n",
    );
    out.push_str(&radio(&answers.radio));
    for kind in &answers.traffic {
        let _ = write!(out, "\n{}", kind.flow());
    }
    out
}

/// The cell and its user.
fn radio(source: &Source) -> String {
    match source {
        Source::Cell(Radio::Lte) => "\
[cell]
rat = \"lte\"
bandwidth = \"5 MHz\"

[ue.phone]
# The best MCS; every tenth block is sent twice.
channel = { kind = \"constant-cqi\", cqi = 15, bler = 0.1 }

[[ue.phone.bearer]]
# What base stations hold for a user before they drop.
downlink-buffer = \"1 MB\"
"
        .to_owned(),
        Source::Cell(Radio::Nr) => "\
[cell]
rat = \"nr\"
frequency = \"3.5 GHz\"
bandwidth = \"100 MHz\"
mcs-table = \"qam256\"

[ue.phone]
channel = { kind = \"constant-cqi\", cqi = 12, bler = 0.1 }

[[ue.phone.bearer]]
# What base stations hold for a user before they drop.
downlink-buffer = \"10 MB\"
"
        .to_owned(),
        Source::Trace(file) => format!(
            "\
[cell]
# What most of the trace was recorded on; LTE where it does not state that.
rat = \"trace\"

[cell.lte]
bandwidth = \"20 MHz\"

[cell.nr]
bandwidth = \"100 MHz\"
mcs-table = \"qam256\"

[ue.phone.channel]
kind = \"trace\"
file = {}

[[ue.phone.bearer]]
# What base stations hold for a user before they drop.
downlink-buffer = \"3 MB\"
",
            quoted(file)
        ),
    }
}

impl Traffic {
    /// The flow whose congestion control the knob sets, if it has one.
    fn controlled(self) -> Option<&'static str> {
        match self {
            Self::Download => Some("download"),
            Self::Pages => Some("pages"),
            Self::Video => Some("video"),
            Self::Quic => Some("quic"),
            Self::Call => None,
        }
    }

    /// Its part of the file.
    fn flow(self) -> &'static str {
        match self {
            Self::Download => "[flow.download]\napp = { kind = \"continuous\" }\n",
            Self::Pages => {
                "[flow.pages]\napp = { kind = \"web\", size = \"500 kB\", interval = \"2 s\" }\nstart = \"1 s\"\n"
            }
            Self::Call => "[flow.call]\napp = { kind = \"voip\" }\n",
            Self::Video => "[flow.video]\napp = { kind = \"video\" }\nstart = \"1 s\"\n",
            Self::Quic => {
                "[flow.quic]\ntransport = \"quic\"\napp = { kind = \"continuous\" }\nstart = \"2 s\"\n"
            }
        }
    }
}
