use super::*;
use scenario::{Overrides, load_str};
use std::sync::atomic::AtomicU32;
use testing::HANG_LIMIT;

/// A runner that distinguishes seeds, and does what each test needs.
struct Scripted<F>(F);

impl<F: Fn(u64, &Stop) -> Result<RunResult, Error> + Send + Sync> Runner for Scripted<F> {
    fn run_one(&self, _: &Experiment, seed: u64, stop: &Stop) -> Result<RunResult, Error> {
        (self.0)(seed, stop)
    }
}

fn points(repeats: u32) -> Vec<Point> {
    let text = format!(
        "seed = 5\nrepeats = {repeats}\n[link]\nrate = \"10 Mbit/s\"\n\
         [flow.bulk]\napp = {{ kind = \"bulk\", size = \"1 MB\" }}\n\
         [sweep]\n\"path.rtt\" = [\"1 ms\", \"2 ms\"]\n"
    );
    load_str(&text, &Overrides::default()).expect("valid")
}

fn of_seed(seed: u64) -> RunResult {
    RunResult {
        seed,
        ..RunResult::default()
    }
}

fn engine(threads: usize) -> Engine {
    Engine::new(NonZeroUsize::new(threads), Stop::default())
}

#[test]
fn results_are_in_the_order_of_points_and_seeds_for_any_number_of_threads() {
    for threads in [1, 3, 100] {
        let started = AtomicU32::new(0);
        let (ended, other_ended) = channel();
        let other_ended = Mutex::new(other_ended);
        let runner: Arc<dyn Runner> = Arc::new(Scripted(move |seed, _: &Stop| {
            // the run that starts first ends after another one, where there are threads for both
            if started.fetch_add(1, Ordering::Relaxed) == 0 && threads > 1 {
                let other = other_ended.lock().expect("one waits");
                other.recv_timeout(HANG_LIMIT).expect("another run ends");
            }
            let _ = ended.send(());
            Ok(of_seed(seed))
        }));
        let done = engine(threads).run(&runner, &points(4), &Quiet);
        let seeds: Vec<Vec<u64>> = done
            .expect("all succeed")
            .iter()
            .map(|runs| runs.iter().map(|run| run.seed).collect())
            .collect();
        assert_eq!(seeds, [[5, 6, 7, 8], [5, 6, 7, 8]]);
    }
}

#[test]
fn a_failure_or_a_panic_is_its_own_and_the_first_in_order_is_returned() {
    let runner: Arc<dyn Runner> = Arc::new(Scripted(|seed, _: &Stop| match seed {
        6 => panic!("{}", "a window of -1"),
        7 => Err(Error::Input("no".to_owned())),
        seed => Ok(of_seed(seed)),
    }));
    let each = engine(2).try_run(&runner, &points(4), &Quiet);
    let each = each.expect("not interrupted");
    let succeeded: Vec<bool> = each[1].iter().map(Result::is_ok).collect();
    assert_eq!(succeeded, [true, false, false, true]);
    let error = engine(2).run(&runner, &points(4), &Quiet).expect_err("6");
    assert_eq!(
        error,
        Error::Run("scenario: the run with seed 6 panicked: a window of -1".to_owned())
    );
}

struct Counting(AtomicU32, u32);

impl Watch for Counting {
    fn finished(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= self.1
    }
}

#[test]
fn the_watcher_is_notified_of_every_run() {
    let runner: Arc<dyn Runner> = Arc::new(Scripted(|seed, _: &Stop| Ok(of_seed(seed))));
    let watch = Counting(AtomicU32::new(0), u32::MAX);
    engine(2).run(&runner, &points(10), &watch).expect("done");
    assert_eq!(watch.0.into_inner(), 20);
}

#[test]
fn an_interruption_ends_runs_that_would_last_for_ever() {
    let begun = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&begun);
    let runner: Arc<dyn Runner> = Arc::new(Scripted(move |_, stop: &Stop| {
        counted.fetch_add(1, Ordering::Relaxed);
        while !stop.is_stopped() {
            thread::yield_now();
        }
        Err(Error::Interrupted)
    }));
    let engine = engine(2);
    let watch = Counting(AtomicU32::new(0), 0);
    let error = engine.run(&runner, &points(10), &watch).expect_err("ended");
    assert_eq!(error, Error::Interrupted);
    // its threads have ended and let go of the runner; none has begun another run
    assert_eq!(Arc::strong_count(&runner), 1);
    assert!(begun.load(Ordering::Relaxed) <= 2);
}
