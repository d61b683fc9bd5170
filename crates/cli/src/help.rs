//! What stands below a command's options in its help, and values that several commands read.

pub(crate) use tunnel_command::help::{address, epilogue};

/// Of `completions`.
pub(crate) const COMPLETIONS_HELP: &str = "\
Packages install them. By hand:
  brimful completions bash > ~/.local/share/bash-completion/completions/brimful
  brimful completions zsh > ~/.zfunc/_brimful     # a folder of $fpath
  brimful completions fish > ~/.config/fish/completions/brimful.fish";

/// Of `run`.
pub(crate) const RUN_HELP: &str = "\
Results go to results/NAME, or with --json only to stdout; --out names the folder in both cases.
A scenario with a sweep runs all its points: one table, or one JSON line, each.

Examples:
  brimful run scenarios/rapid/fast-embb-los.toml --set rtt=\"1 ms\" --set pep=default
  brimful run scenarios/rapid/trace-drive.toml --trace drive.csv --repeats 10 --json

Exit codes: 0 done, 2 bad usage or input (nothing written), 1 failed run.";

/// Of `top`.
pub(crate) const TOP_HELP: &str = "\
Reads what `brimful dash FILE` and `brimful run FILE --dash` show, from here or from afar. The token
that others need is the content of --token-file, or of the variable BRIMFUL_DASH_TOKEN. A lost
connection is tried again until it is back. ? shows the keys.

Examples:
  brimful top
  brimful top lab7.example:8080 --token-file dash.token
  brimful top --once

Exit codes: 0 ended by a key or a signal, 2 bad usage, or no terminal, 1 nothing answers there.";

/// Of `replay`.
pub(crate) const REPLAY_HELP: &str = "\
Recordings are made by `brimful run --record FILE` in either world, and by a live proxy ([record] in
its configuration).

Example:
  sudo brimful run scenarios/rapid/oai-fast.toml --world lab --record decisions.jsonl
  brimful replay decisions.jsonl

Exit codes: 0 all decisions are identical, 1 one differs, 2 bad usage or no recording.";

/// Of `compare`.
pub(crate) const COMPARE_HELP: &str = "\
The first variant is the one that ratios refer to. Several --vary give all combinations. Values
that hold a comma stand in double quotes.

Example:
  brimful compare scenarios/rapid/trace-drive.toml --vary pep=none,default --repeats 10
  sudo brimful compare scenarios/rapid/oai-fast.toml --world sim,lab";

/// Of `sweep`.
pub(crate) const SWEEP_HELP: &str = "\
DIR gets _sweep.json, points/ and queues/ (Parquet, one row for each flow or queue of a point) and
failed.jsonl. The same command goes on with a sweep that was interrupted; DIR keeps what is finished. The
dataset is the same whatever the engine and the workers.

Examples:
  brimful sweep scenarios/nested-cc/contour.toml --grid tunnel-cc=bbr,bbrv2,ccid5
  brimful sweep scenarios/nested-cc/contour.toml --engine ray --address ray-head:6379

Exit codes: 0 done, 1 a point failed or the sweep did, 2 bad usage, input or folder (nothing written),
130 interrupted.";

/// Of `reproduce`.
pub(crate) const REPRODUCE_HELP: &str = "\
Prints each claim with the paper's number, ours with its 95 % confidence interval, and what becomes
of it: holds, better, or does not hold, and why. With --out, DIR gets the page SYSTEM.md, its figures
in SYSTEM/, and all numbers in SYSTEM.json; without, nothing is written. In the lab an experiment takes
as long as it lasts; --threads N runs N at a time, each in hosts of its own.

Examples:
  brimful reproduce rapid --quick
  brimful reproduce rapid --only fig4 --only fig7 --out results
  brimful reproduce dynamic-buffer --quick
  brimful reproduce meld --quick
  brimful reproduce nested-cc --quick
  sudo brimful reproduce rapid --world lab --threads 4
  sudo brimful reproduce rapid --world sim,lab --only fig9

Exit codes: 0 done (whatever the verdicts), 2 bad usage (nothing written), 1 failed run.";
