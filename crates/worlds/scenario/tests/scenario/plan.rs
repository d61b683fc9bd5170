//! Sweeps whose points are made one by one, points at random, and bundles.

use scenario::{Bundle, ChannelSpec, Overrides, Plan, TraceSpec, load, load_str};
use std::path::{Path, PathBuf};

const TEXT: &str = "[knobs.rtt]\ndefault = \"4 ms\"\nsets = [\"path.rtt\"]\n\
    [knobs.cc]\ndefault = \"cubic\"\none-of = [\"cubic\", \"bbr\"]\nsets = [\"flow.bulk.cc\"]\n\
    [path]\nrate = \"1 Gbit/s\"\n[link]\nrate = \"10 Mbit/s\"\n\
    [flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n";

fn sampled(sample: &str) -> String {
    format!("{TEXT}[sweep]\nsample = {{ {sample} }}\n")
}

fn set(set: &[(&str, &str)]) -> Overrides {
    let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Overrides {
        set: set.collect(),
        ..Overrides::default()
    }
}

fn axes(plan: &Plan) -> Vec<Vec<(String, String)>> {
    let points = 0..plan.points();
    points.map(|i| plan.axes_of(i).expect("valid")).collect()
}

fn refusal(sample: &str) -> String {
    let refused = Plan::load_str(&sampled(sample), &Overrides::default());
    refused.map(|_| ()).expect_err(sample).to_string()
}

/// The numbers of a column of the points' axes.
fn numbers(axes: &[Vec<(String, String)>], column: usize) -> Vec<f64> {
    let text = axes.iter().map(|point| point[column].1.split(' ').next());
    text.map(|text| text.and_then(|t| t.parse().ok()).expect("a number"))
        .collect()
}

#[test]
fn a_plan_has_the_points_of_load_in_their_order() {
    let text =
        format!("{TEXT}[sweep]\nrtt = [\"3 ms\", \"5 ms\", \"7 ms\"]\ncc = [\"cubic\", \"bbr\"]\n");
    let all = load_str(&text, &Overrides::default()).expect("valid");
    let plan = Plan::load_str(&text, &Overrides::default()).expect("valid");
    assert_eq!(plan.points(), all.len() as u64);
    // backwards, for no point may depend on those before it
    for (i, point) in all.iter().enumerate().rev() {
        let made = plan.point(i as u64).expect("valid");
        assert_eq!((&made.axes, &made.resolved), (&point.axes, &point.resolved));
    }
}

#[test]
fn points_at_random_keep_their_distance_and_fewer_are_the_first_of_more() {
    let of = |points: u32| {
        let sample = format!(
            "points = {points}, min-distance = 0.05, ranges = {{ rtt = [\"2 ms\", \"100 ms\"], \
             \"link.loss\" = [0.0, 0.5] }}"
        );
        axes(&Plan::load_str(&sampled(&sample), &Overrides::default()).expect("valid"))
    };
    let all = of(100);
    let (rtt, loss) = (numbers(&all, 0), numbers(&all, 1));
    for i in 0..all.len() {
        assert!((2.0..=100.0).contains(&rtt[i]) && (0.0..=0.5).contains(&loss[i]));
        for j in 0..i {
            let distance = ((rtt[i] - rtt[j]) / 98.0).hypot((loss[i] - loss[j]) / 0.5);
            // values are rounded to a ten thousandth of their range
            assert!(distance > 0.05 - 0.0002, "{:?} {:?}", all[i], all[j]);
        }
    }
    assert_eq!(of(10), all[..10]);
    assert_eq!(all[0][0].0, "rtt");
    // two whole numbers give whole numbers, both ends included
    let counts = "points = 200, ranges = { \"flow.bulk.count\" = [1, 3] }";
    let plan = Plan::load_str(&sampled(counts), &Overrides::default()).expect("valid");
    let mut found = numbers(&axes(&plan), 0);
    found.sort_by(f64::total_cmp);
    found.dedup();
    assert_eq!(found, [1.0, 2.0, 3.0]);
}

#[test]
fn axes_run_within_each_point_and_options_take_ranges_away() {
    let text = sampled(
        "points = 3, ranges = { rtt = [\"2 ms\", \"100 ms\"], \"link.loss\" = [0.0, 0.5] }",
    );
    let with = |options: &[(&str, &str)]| Plan::load_str(&text, &set(options)).expect("valid");
    let grid = axes(&with(&[("sweep.cc", "[\"cubic\", \"bbr\"]")]));
    assert_eq!(grid.len(), 6);
    assert_eq!(grid[0][..2], grid[1][..2]);
    assert_ne!(grid[1][..2], grid[2][..2]);
    assert_eq!(
        (grid[0][2].1.as_str(), grid[1][2].1.as_str()),
        ("cubic", "bbr")
    );
    // a range that is set, or swept, is drawn no more
    let fixed = axes(&with(&[("rtt", "9 ms")]));
    assert_eq!((fixed.len(), fixed[0].len()), (3, 1));
    let swept = axes(&with(&[("sweep.path.rtt", "[\"9 ms\", \"8 ms\"]")]));
    assert_eq!((swept.len(), swept[0].len()), (6, 2));
    let none = with(&[("rtt", "9 ms"), ("link.loss", "0.1")]);
    assert_eq!(axes(&none), [vec![]]);
    // keys of the sample are set like others
    assert_eq!(with(&[("sweep.sample.points", "5")]).points(), 5);
    assert_eq!(
        with(&[("sweep.sample.ranges.link.loss", "[0.1, 0.2]")]).axes()[1].name,
        "link.loss"
    );
    let found = load_str(&text, &set(&[])).expect("valid");
    assert_eq!(found.len(), 3);
}

#[test]
fn wrong_samples_are_refused_with_their_place() {
    let ranges = "ranges = { rtt = [\"2 ms\", \"100 ms\"] }";
    assert!(refusal(ranges).contains("has no key \"points\""));
    assert!(refusal("points = 4").contains("has no key \"ranges\""));
    assert!(refusal(&format!("points = 0, {ranges}")).contains("points"));
    assert!(
        refusal(&format!("points = 4, seeds = 1, {ranges}")).contains("did you mean \"seed\"?")
    );
    let crowded = refusal(&format!("points = 40, min-distance = 0.1, {ranges}"));
    assert!(crowded.contains("no room for more than"), "{crowded}");
    for (range, what) in [
        ("rtt = [\"2 ms\"]", "has 1 values"),
        ("rtt = \"2 ms\"", "is a string"),
        ("rtt = [\"2 ms\", \"1 s\"]", "is from 2 ms to 1 s"),
        ("rtt = [\"9 ms\", \"2 ms\"]", "is empty"),
        ("rtt = [\"a\", \"b\"]", "is no number"),
        ("rttt = [\"2 ms\", \"9 ms\"]", "unknown knob or key"),
        ("cc = [\"cubic\", \"bbr\"]", "is no number"),
        (
            "rtt = [\"2 ms\", \"9 ms\"], path.rtt = [\"2 ms\", \"9 ms\"]",
            "the same key",
        ),
    ] {
        let message = refusal(&format!("points = 4, ranges = {{ {range} }}"));
        assert!(message.contains(what), "{range}: {message}");
        assert!(message.starts_with("<text>:"), "{message}");
    }
    // what a value may be is still looked up when the point is made
    let message = refusal("points = 4, ranges = { \"link.loss\" = [2.0, 3.0] }");
    assert!(message.contains("loss"), "{message}");
}

#[test]
fn a_million_points_are_planned_and_made_one_by_one() {
    let list: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let list = list.join(",");
    let text = format!("{TEXT}[sweep]\nseed = [{list}]\n\"flow.bulk.count\" = [{list}]\n");
    let plan = Plan::load_str(&text, &Overrides::default()).expect("valid");
    assert_eq!(plan.points(), 1_000_000);
    let last = plan.point(999_999).expect("valid");
    assert_eq!(last.label(), "seed=1000 flow.bulk.count=1000");
    assert_eq!(last.experiment.flows.len(), 1000);
    assert!(load_str(&text, &Overrides::default()).is_err());
    // a value that cannot be is found before anything runs, wherever it stands
    let wrong = text.replace(",999,", ",-7,");
    assert!(Plan::load_str(&wrong, &Overrides::default()).is_err());
}

#[test]
fn the_contour_of_the_paper_is_four_hundred_points_of_the_plane() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/nested-cc/contour.toml");
    let plan = Plan::load(&file, &Overrides::default()).expect("valid");
    let all = axes(&plan);
    assert_eq!(all.len(), 400);
    // every tenth of both axes has a point
    let (rtt, share) = (numbers(&all, 0), numbers(&all, 1));
    for column in 0..10 {
        for row in 0..10 {
            let here = |i: &usize| {
                (rtt[*i] / 10.001) as usize == column && (share[*i] * 9.999) as usize == row
            };
            assert!((0..400).any(|i| here(&i)), "{column} {row}");
        }
    }
    assert_eq!(
        load(&file, &Overrides::default()).expect("valid").len(),
        400
    );
}

#[test]
fn a_bundle_needs_no_files_and_its_faults_read_the_same() {
    let folder = std::env::temp_dir().join(format!("brimful-plan-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("walk.txt", "2\n5\n4\n");
    write("other.txt", "7\n7\n7\n");
    write(
        "base.inc",
        "[path]\nrtt = \"50 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
         [flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n\
         [ue.phone.channel]\nkind = \"trace\"\nfile = \"walk.txt\"\nformat = \"packets-per-tick\"\n",
    );
    write(
        "sub/top.toml",
        "extends = \"../base.inc\"\n[sweep]\nseed = [1, 2, 3]\n",
    );
    let other = folder.join("other.txt");
    let overrides = set(&[("path.rtt", "60 ms")]);
    let with_trace = Overrides {
        trace: Some(other.clone()),
        ..overrides.clone()
    };
    let plan = |overrides| Plan::load(&folder.join("sub/top.toml"), overrides).expect("valid");
    let (plans, names): (Vec<Plan>, Vec<PathBuf>) = [
        (plan(&overrides), folder.join("sub/../walk.txt")),
        (plan(&with_trace), other),
    ]
    .into_iter()
    .unzip();
    let bundles: Vec<String> = plans
        .iter()
        .map(|plan| serde_json::to_string(&plan.bundle().expect("readable")).expect("plain data"))
        .collect();
    std::fs::remove_dir_all(&folder).expect("still there");
    for ((plan, name), bundle) in plans.iter().zip(names).zip(bundles) {
        let bundle: Bundle = serde_json::from_str(&bundle).expect("as written");
        let there = Plan::of_bundle(bundle.clone()).expect("valid");
        assert_eq!(there.points(), 3);
        let (a, b) = (
            plan.point(2).expect("valid"),
            there.point(2).expect("valid"),
        );
        assert_eq!((a.axes, a.resolved), (b.axes, b.resolved));
        match (&a.experiment.ues[0].channel, &b.experiment.ues[0].channel) {
            (
                ChannelSpec::Trace(TraceSpec { trace: a, .. }),
                ChannelSpec::Trace(TraceSpec { trace: b, path, .. }),
            ) => {
                assert_eq!(format!("{:?}", a.content), format!("{:?}", b.content));
                assert_eq!(*path, name);
            }
            other => panic!("{other:?}"),
        }
        // the plan of a bundle can be sent on
        assert_eq!(there.bundle().expect("at hand"), bundle);
        // without its files the error names the missing one
        let json = serde_json::to_string(&bundle).expect("plain data");
        let lost = json.replace("sub/../base.inc\":", "sub/../lost.inc\":");
        let lost: Bundle = serde_json::from_str(&lost).expect("as written");
        let message = Plan::of_bundle(lost)
            .expect_err("a file is missing")
            .to_string();
        assert!(message.contains("base.inc"), "{message}");
    }
}
