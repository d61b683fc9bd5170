//! Keys of the tunnel: made, printed, and what is missing.

use super::Place;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_private_key_is_made_and_its_public_key_printed() {
    let place = Place::new();
    let made = place.run(&["tunnel", "key", "own.key"]).succeeded();
    let mode = std::fs::metadata(place.path("own.key"))
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let private = std::fs::read_to_string(place.path("own.key")).expect("readable");
    assert!(!made.stdout.contains(private.trim()), "{made:?}");
    let again = place
        .run(&["tunnel", "key", "--public", "own.key"])
        .succeeded();
    let public = again.stdout.trim();
    assert!(
        public.len() == 44 && made.stdout.contains(public),
        "{made:?}"
    );
    let both = place.run(&["tunnel", "key"]).succeeded();
    assert!(both.stdout.contains("private-key = ") && both.stdout.contains("public-key = "));
    let shared = place
        .run(&["tunnel", "key", "--shared", "shared.key"])
        .succeeded();
    assert!(!shared.stdout.contains("public-key"), "{shared:?}");
    let present = place.run(&["tunnel", "key", "own.key"]);
    assert_eq!(present.code, Some(2), "{present:?}");
    assert!(present.stderr.contains("exists"), "{present:?}");
    let after = std::fs::read_to_string(place.path("own.key")).expect("readable");
    assert_eq!(private, after, "it stays");
}

#[test]
fn keys_that_are_missing_are_named() {
    let place = Place::new();
    place.run(&["tunnel", "key", "own.key"]).succeeded();
    place
        .run(&["tunnel", "key", "--shared", "shared.key"])
        .succeeded();
    let public = place.run(&["tunnel", "key", "--public", "own.key"]).stdout;
    let public = public.trim();
    let client = |more: &[&str]| {
        let begin = [
            "tunnel",
            "client",
            "--check",
            "--remote",
            "192.0.2.1:1",
            "--path",
            "lo",
        ];
        place.run(&[&begin, more].concat())
    };
    for (more, text) in [
        (&["--key-file", "shared.key"][..], "--private-key-file"),
        (&["--private-key-file", "own.key"], "--server-key"),
        (&["--encryption", "none"], "--key-file"),
        (&["--encryption", "off"], "expected on or none"),
        (
            &["--private-key-file", "shared.key", "--server-key", "AAAA"],
            "44 characters of base64",
        ),
    ] {
        let run = client(more);
        assert_eq!(run.code, Some(2), "{more:?}: {run:?}");
        assert!(run.stderr.contains(text), "{more:?}: {run:?}");
    }
    client(&["--private-key-file", "own.key", "--server-key", public]).succeeded();
    client(&["--encryption", "none", "--key-file", "shared.key"]).succeeded();
    // of no order that keeps a secret
    let zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let run = client(&["--private-key-file", "own.key", "--server-key", zero]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(
        run.stderr
            .contains("the public key of the server is no key"),
        "{run:?}"
    );
}
