//! The traces that the project ships are those that its generators make.

use radio::trace::{Kind, ReadOptions, generate, read, write};
use std::fs;
use std::path::{Path, PathBuf};
use units::Duration;

struct Shipped {
    file: &'static str,
    kind: Kind,
    seconds: u64,
    seed: u64,
}

const SHIPPED: [Shipped; 9] = [
    Shipped {
        file: "drive-lte.csv",
        kind: Kind::DriveLte,
        seconds: 600,
        seed: 1,
    },
    Shipped {
        file: "drive-nr.csv",
        kind: Kind::DriveNr,
        seconds: 600,
        seed: 1,
    },
    Shipped {
        file: "static.csv",
        kind: Kind::Static,
        seconds: 600,
        seed: 1,
    },
    Shipped {
        file: "pedestrian.txt",
        kind: Kind::Pedestrian,
        seconds: 600,
        seed: 1,
    },
    Shipped {
        file: "train.txt",
        kind: Kind::Train,
        seconds: 600,
        seed: 1,
    },
    Shipped {
        file: "mmwave-blockage.csv",
        kind: Kind::Mmwave,
        seconds: 120,
        seed: 1,
    },
    Shipped {
        file: "bursty.csv",
        kind: Kind::Bursty,
        seconds: 120,
        seed: 1,
    },
    Shipped {
        file: "street-west.csv",
        kind: Kind::StreetWest,
        seconds: 120,
        seed: 1,
    },
    Shipped {
        file: "street-east.csv",
        kind: Kind::StreetEast,
        seconds: 120,
        seed: 1,
    },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../traces")
}

impl Shipped {
    fn made(&self) -> String {
        let trace = generate(self.kind, Duration::from_secs(self.seconds), self.seed).unwrap();
        write(&trace, self.kind.format()).unwrap()
    }

    fn command(&self) -> String {
        let Self {
            file,
            kind,
            seconds,
            seed,
        } = self;
        format!(
            "brimful trace generate --kind {kind} --duration \"{seconds} s\" --seed {seed} --out traces/{file}"
        )
    }
}

#[test]
fn regenerating_gives_the_same_bytes() {
    for shipped in &SHIPPED {
        let kept = fs::read_to_string(folder().join(shipped.file)).unwrap();
        assert!(
            kept == shipped.made(),
            "{} differs: {}",
            shipped.file,
            shipped.command()
        );
    }
}

#[test]
fn the_readme_has_the_commands_and_no_other_trace_is_there() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for shipped in &SHIPPED {
        assert!(readme.contains(&shipped.command()), "{}", shipped.command());
    }
    let mut size = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let known = SHIPPED.iter().any(|shipped| shipped.file == name) || name == "README.md";
        assert!(known, "{name} is not a trace that a command makes");
        size += entry.metadata().unwrap().len();
    }
    assert!(size < 600_000, "{size} bytes");
}

#[test]
fn they_are_recognised() {
    for shipped in &SHIPPED {
        let bytes = fs::read(folder().join(shipped.file)).unwrap();
        let trace = read(shipped.file, &bytes, &ReadOptions::default()).unwrap();
        assert_eq!(trace.format, shipped.kind.format(), "{}", shipped.file);
        assert_eq!(
            trace.duration(),
            Duration::from_secs(shipped.seconds),
            "{}",
            shipped.file
        );
        let made = generate(
            shipped.kind,
            Duration::from_secs(shipped.seconds),
            shipped.seed,
        );
        assert_eq!(trace.content, made.unwrap().content, "{}", shipped.file);
    }
}
