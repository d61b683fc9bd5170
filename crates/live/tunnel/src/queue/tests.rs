//! What is handed over, step by step: who waits is seen by what the queue counts, never by a time.

use super::*;
use proptest::prelude::*;
use std::sync::mpsc;
use testing::wait_until;

fn open(limit: usize) -> Queue<u32> {
    let queue = Queue::new(limit);
    queue.open();
    queue
}

#[test]
fn jobs_come_in_their_order_and_count_until_they_are_done() {
    let queue = open(100);
    assert!(queue.is_idle());
    for job in 0..3 {
        assert_eq!(queue.push(job, 10), Ok(()));
    }
    for job in 0..3 {
        assert!(!queue.is_idle());
        assert_eq!(queue.take(), Some((job, 10)));
        assert!(!queue.is_idle(), "the last is not done");
        queue.done(10);
    }
    assert!(queue.is_idle());
    let counters = QueueCounters { jobs: 3, waits: 0 };
    assert_eq!(queue.counters(), counters);
}

/// The other thread is slow: it takes a job, and does not do it until it may. What does not fit waits, not longer than until
/// there is room, and nothing is lost.
#[test]
fn who_hands_over_waits_for_room() {
    let queue = open(20);
    let (taken, was_taken) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let (pushed, was_pushed) = mpsc::channel();
    std::thread::scope(|scope| {
        let from = &queue;
        scope.spawn(move || {
            while let Some((job, cost)) = from.take() {
                taken.send(job).expect("it is looked at");
                may_go.recv().expect("it goes on");
                from.done(cost);
            }
        });
        scope.spawn(move || {
            for job in 0..4 {
                from.push(job, 10).expect("it is open");
                pushed.send(job).expect("it is looked at");
            }
            from.close();
        });
        let next = |from: &mpsc::Receiver<u32>| from.recv().expect("it goes on");
        assert_eq!(next(&was_taken), 0);
        assert_eq!((next(&was_pushed), next(&was_pushed)), (0, 1));
        // one that is being done and one that waits fill it
        wait_until("the third waits", || queue.counters().waits == 1);
        assert!(was_pushed.try_recv().is_err());
        go.send(()).expect("it goes on");
        assert_eq!((next(&was_taken), next(&was_pushed)), (1, 2));
        wait_until("the fourth waits", || queue.counters().waits == 2);
        assert!(was_pushed.try_recv().is_err());
        for job in 2..4 {
            go.send(()).expect("it goes on");
            assert_eq!(next(&was_taken), job);
        }
        assert_eq!(next(&was_pushed), 3);
        go.send(()).expect("it goes on");
    });
    assert_eq!(queue.take(), None, "closed, and nothing is left");
    assert_eq!(queue.counters(), QueueCounters { jobs: 4, waits: 2 });
}

#[test]
fn one_job_that_costs_more_than_all_may_goes_alone() {
    let queue = open(20);
    assert_eq!(queue.push(1, 50), Ok(()));
    assert_eq!(queue.take(), Some((1, 50)));
    queue.done(50);
    assert!(queue.is_idle());
}

#[test]
fn a_closed_one_hands_back_and_is_emptied_first() {
    let queue = Queue::new(20);
    assert_eq!(queue.push(1, 1), Err(1), "not open yet");
    assert!(!queue.is_idle(), "no job is taken");
    queue.open();
    assert_eq!(queue.push(2, 1), Ok(()));
    queue.close();
    assert_eq!(queue.push(3, 1), Err(3));
    assert_eq!(queue.take(), Some((2, 1)), "what was there before");
    assert_eq!(queue.take(), None);
}

/// The thread that takes jobs ends by a fault: who waits gets its job back.
#[test]
fn who_waits_for_a_thread_that_is_gone_gets_its_job_back() {
    let queue = open(10);
    assert_eq!(queue.push(1, 10), Ok(()));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| queue.push(2, 10));
        wait_until("it waits", || queue.counters().waits == 1);
        queue.abandon();
        assert_eq!(waiting.join().expect("no fault"), Err(2));
    });
    queue.settle();
    assert_eq!(queue.take(), None);
}

#[test]
fn all_is_done_before_it_is_settled() {
    let queue = open(1_000);
    for job in 0..50 {
        assert_eq!(queue.push(job, 10), Ok(()));
    }
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while let Some((job, cost)) = queue.take() {
                done.lock().expect("no fault").push(job);
                queue.done(cost);
            }
        });
        queue.settle();
        assert_eq!(*done.lock().expect("no fault"), Vec::from_iter(0..50));
        queue.close();
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Two threads at whatever speeds: each job once, in order, and never more held than may be.
    #[test]
    fn each_job_comes_once_and_in_order(costs in prop::collection::vec(1usize..30, 1..200), limit in 1usize..60) {
        let queue = Queue::new(limit);
        queue.open();
        let (mut taken, mut most) = (Vec::new(), 0);
        let greatest = costs.iter().copied().max().unwrap_or(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (job, cost) in costs.iter().enumerate() {
                    queue.push(job, *cost).expect("it is open");
                }
                queue.close();
            });
            while let Some((job, cost)) = queue.take() {
                most = most.max(queue.state().held);
                taken.push(job);
                queue.done(cost);
            }
        });
        prop_assert_eq!(taken, Vec::from_iter(0..costs.len()));
        prop_assert!(most <= limit.max(greatest), "{most}");
    }
}
