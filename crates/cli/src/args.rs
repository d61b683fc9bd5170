//! The command line, as `docs/cli.md` describes it.

mod trace;

use crate::commands::cdbe::CdbeCommand;
use crate::commands::dash::{DASH_HELP, DashArgs};
use crate::commands::doctor::{DOCTOR_HELP, DoctorArgs};
use crate::commands::figure::{FIGURE_HELP, FigureArgs};
use crate::commands::init::{INIT_HELP, InitArgs};
use crate::commands::lab::LabCommand;
use crate::commands::pep::{PEP_HELP, PepArgs};
use crate::commands::quic::QuicCommand;
use crate::commands::rnis::{RNIS_HELP, RnisArgs};
use crate::commands::ue::{UE_HELP, UeArgs};
use crate::help::{
    COMPARE_HELP, COMPLETIONS_HELP, REPLAY_HELP, REPRODUCE_HELP, RUN_HELP, SWEEP_HELP, TOP_HELP,
    epilogue,
};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use reproduce::SYSTEMS;
use scenario::Overrides;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
pub(crate) use trace::{
    ConversionArgs, Table, TraceCommand, TraceConvertArgs, TraceGenerateArgs, TraceImportArgs,
    TraceInfoArgs, TraceReadArgs, TraceRecordArgs,
};
use tunnel_command::TunnelCommand;

/// Radio-aware transport, simulated: what does RAN-aware flow control do to my traffic over my
/// radio?
#[derive(Debug, Parser)]
#[command(name = "brimful", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and print one table
    #[command(after_help = epilogue(RUN_HELP))]
    Run(RunArgs),
    /// Run variants of a scenario side by side, with the same seeds
    #[command(after_help = epilogue(COMPARE_HELP))]
    Compare(CompareArgs),
    /// Run a large sweep into a Parquet dataset, on all cores, and go on with it
    #[command(after_help = epilogue(SWEEP_HELP))]
    Sweep(SweepArgs),
    /// Run a paper's experiments again and print its claims beside ours
    #[command(after_help = epilogue(REPRODUCE_HELP))]
    Reproduce(ReproduceArgs),
    /// Run the live proxy: split TCP connections of UEs, windows by RAPID
    #[command(after_help = epilogue(PEP_HELP))]
    Pep(PepArgs),
    /// Attach CDBE to this machine's TCP: clients report their bandwidth, servers pace by it
    #[command(subcommand)]
    Cdbe(CdbeCommand),
    /// Serve or download over QUIC, with MELD: losses that the radio explains do not slow it down
    #[command(subcommand)]
    Quic(QuicCommand),
    /// Carry all traffic over several paths at once: both ends of the multipath tunnel
    #[command(subcommand)]
    Tunnel(TunnelCommand),
    /// Decide a recording of RAPID's allocator once more, and compare
    #[command(after_help = epilogue(REPLAY_HELP))]
    Replay(ReplayArgs),
    /// Run the radio information service: reports of base stations, for any client that needs them
    #[command(after_help = epilogue(RNIS_HELP))]
    Rnis(RnisArgs),
    /// Run the queue above a modem: what leaves by it is marked, or waits, by the modem's counters
    #[command(after_help = epilogue(UE_HELP))]
    Ue(UeArgs),
    /// Run programs on this machine's kernel behind an emulated radio
    #[command(subcommand)]
    Lab(LabCommand),
    /// Show live values or results in the browser
    #[command(after_help = epilogue(DASH_HELP))]
    Dash(DashArgs),
    /// Show live values in the terminal
    #[command(after_help = epilogue(TOP_HELP))]
    Top(TopArgs),
    /// Write a scenario of your own from a few answers
    #[command(after_help = epilogue(INIT_HELP))]
    Init(InitArgs),
    /// Draw a figure for a paper, from a folder of results
    #[command(after_help = epilogue(FIGURE_HELP))]
    Figure(FigureArgs),
    /// Try what works on this machine, and say what to do about the rest
    #[command(after_help = epilogue(DOCTOR_HELP))]
    Doctor(DoctorArgs),
    /// Measure, make, record, import or convert radio traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// List the scenarios in a folder
    List(ListArgs),
    /// Look into a scenario file, or up what such files may hold
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// Print the completions of a shell
    #[command(after_help = epilogue(COMPLETIONS_HELP))]
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Man(ManArgs),
}

/// Where an experiment runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum World {
    /// The packet-level simulator
    #[default]
    Sim,
    /// This machine's kernel and real programs behind an emulated radio
    Lab,
}

impl World {
    /// As results name it.
    pub(crate) fn name(self) -> &'static str {
        runner::World::from(self).name()
    }
}

impl From<World> for runner::World {
    fn from(world: World) -> Self {
        match world {
            World::Sim => Self::Sim,
            World::Lab => Self::Lab,
        }
    }
}

/// Which radio trace a command plays, and from where.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RadioArgs {
    /// Radio trace instead of the scenario's own; run, compare and sweep take a folder of traces
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Trace of what the cell's uplink carries: delivery opportunities, packets per tick or rates
    #[arg(long, value_name = "FILE")]
    pub(crate) uplink_trace: Option<PathBuf>,
    /// Where in the radio trace a run begins: a time such as "60 s", or random, by its seed
    #[arg(long, value_name = "TIME")]
    pub(crate) trace_offset: Option<String>,
}

impl RadioArgs {
    /// These settings, with the traces.
    pub(crate) fn overrides(&self, set: Vec<(String, String)>) -> Overrides {
        Overrides {
            set,
            trace: self.trace.clone(),
            uplink_trace: self.uplink_trace.clone(),
            trace_offset: self.trace_offset.clone(),
            ..Overrides::default()
        }
    }

    /// What these options change, by their names.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (String, String)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let options = [
            ("trace", path(&self.trace)),
            ("uplink-trace", path(&self.uplink_trace)),
            ("trace-offset", self.trace_offset.clone()),
        ];
        let given = options.into_iter();
        given.filter_map(|(name, value)| value.map(|value| (name.to_owned(), value)))
    }
}

/// What `run` and `compare` have in common.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExperimentArgs {
    /// Scenario file (TOML)
    pub(crate) file: PathBuf,
    /// Where to run it; `compare` takes both, as sim,lab
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sim")]
    pub(crate) world: Vec<World>,
    /// Set a knob, or a key by its dotted path; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of the first repeat; repeat k uses seed + k
    #[arg(long, value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Number of repeats, each with its own seed
    #[arg(long, value_parser = repeats, allow_hyphen_values = true)]
    pub(crate) repeats: Option<u32>,
    #[command(flatten)]
    pub(crate) radio: RadioArgs,
    /// Folder for the results; replaced if it holds older results
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON on stdout instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print all tables with all columns, ratios and intervals among them
    #[arg(long, conflicts_with = "json")]
    pub(crate) wide: bool,
    /// Runs at the same time [default: one for each core, in the lab 1]; changes no simulated result
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Divide rates, sizes and buffers in the lab by N [default: what this machine needs to keep up]
    #[arg(long, value_name = "N")]
    pub(crate) lab_scale: Option<NonZeroU32>,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// Record what RAPID's allocator receives and what it decides, for `brimful replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Show the run in the browser while it is under way; to others than this machine with the
    /// token in BRIMFUL_DASH_TOKEN [default address: 127.0.0.1:8080]
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:8080",
        value_parser = crate::help::address,
    )]
    pub(crate) dash: Option<SocketAddr>,
}

/// Options of `top`.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Where the dashboard is served: HOST:PORT, or its address in the browser
    #[arg(default_value = "127.0.0.1:8080")]
    pub(crate) address: String,
    /// File with the token, if one is needed from here
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print one table of the first second's values, and end
    #[arg(long)]
    pub(crate) once: bool,
}

/// Options of `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The recording
    pub(crate) file: PathBuf,
    /// Print JSON on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// Values of a knob or key to be compared; may be given several times
    #[arg(long, value_name = "KEY=A,B,...", required_unless_present = "world")]
    pub(crate) vary: Vec<String>,
}

/// Who runs the points of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SweepEngine {
    /// Threads of this machine
    #[default]
    Local,
    /// Ray, by way of the Python package
    Ray,
}

/// Options of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Scenario file (TOML)
    pub(crate) file: PathBuf,
    /// Set a knob, or a key by its dotted path; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// An axis beside those of the file, or instead of one; may be given several times
    #[arg(long, value_name = "KEY=A,B,...")]
    pub(crate) grid: Vec<String>,
    /// Seed of the first repeat; repeat k uses seed + k
    #[arg(long, value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Number of repeats, each with its own seed
    #[arg(long, value_parser = repeats, allow_hyphen_values = true)]
    pub(crate) repeats: Option<u32>,
    #[command(flatten)]
    pub(crate) radio: RadioArgs,
    /// Who runs the points
    #[arg(long, value_enum, default_value = "local")]
    pub(crate) engine: SweepEngine,
    /// The Ray cluster, as HOST:PORT or auto [default: RAY_ADDRESS, or a Ray of this machine's own]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Points at the same time [default: one for each core]; changes no result
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub(crate) workers: Option<NonZeroUsize>,
    /// Folder for the dataset [default: results/NAME-sweep]; what is in it is not run again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run points that have failed again
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Print one JSON object on stdout instead of a sentence
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Whose paper
    #[arg(value_parser = PossibleValuesParser::new(SYSTEMS.iter().map(|s| s.name)))]
    pub(crate) system: String,
    /// Where: in the lab (as root) the experiments of a testbed; sim,lab shows how far both agree
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sim")]
    pub(crate) world: Vec<World>,
    /// Fewer repeats and conditions, to see within half a minute whether all is well
    #[arg(long)]
    pub(crate) quick: bool,
    /// One figure or section of the page, e.g. fig7; may be given several times
    #[arg(long, value_name = "FIGURE")]
    pub(crate) only: Vec<String>,
    /// Seed of the first repeat; repeat k uses seed + k [default: 1]
    #[arg(long, value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Number of repeats of each experiment [default: as the paper has it]
    #[arg(long, value_parser = repeats, allow_hyphen_values = true)]
    pub(crate) repeats: Option<u32>,
    /// Folder for the page, its figures and all numbers
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Who draws the figures: this program, or matplotlib by the Python package
    #[arg(long, value_enum, default_value_t = Figures::Plain, requires = "out")]
    pub(crate) figures: Figures,
    /// Print one JSON object on stdout instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Runs at the same time [default: one for each core, in the lab 1]; changes no simulated result
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Options of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash, with the package bash-completion
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
}

/// Options of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; made if it is missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Who draws the figures of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Figures {
    /// This program.
    Plain,
    /// matplotlib, by the Python package.
    Matplotlib,
}

/// Options of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Folder with scenario files
    #[arg(default_value = "scenarios")]
    pub(crate) folder: PathBuf,
    /// Print JSON on stdout instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Commands on scenario files.
#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Print the scenario as it was understood, defaults included, as JSON
    Show(ShowArgs),
    /// Print every key that a scenario file may have, as Markdown
    Keys,
    /// Write a page on a scenario, as Markdown, with a figure of its first seconds in the simulator
    Page(PageArgs),
}

/// Options of `scenario page`.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// Scenario file (TOML)
    pub(crate) file: PathBuf,
    /// Folder for the page and its figure, made if it is missing
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Write the page alone, and run nothing
    #[arg(long)]
    pub(crate) no_figure: bool,
}

/// Options of `scenario show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Scenario file (TOML)
    pub(crate) file: PathBuf,
    /// Set a knob, or a key by its dotted path; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) radio: RadioArgs,
}

/// A whole number in a range.
fn whole<T: Copy + FromStr + PartialOrd + std::fmt::Display>(
    text: &str,
    min: T,
    max: T,
) -> Result<T, String> {
    let number = text.parse().ok().filter(|n| (&min..=&max).contains(&n));
    number.ok_or_else(|| format!("expected a whole number from {min} to {max}"))
}

/// A seed, as large as a scenario file may have it.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, 9_000_000_000_000_000)
}

/// A number of repeats, as large as a scenario file may have it.
pub(crate) fn repeats(text: &str) -> Result<u32, String> {
    whole(text, 1, 10_000)
}

/// A number of threads; more than there are runs are not started.
fn threads(text: &str) -> Result<NonZeroUsize, String> {
    whole(text, NonZeroUsize::MIN, NonZeroUsize::MAX)
}
