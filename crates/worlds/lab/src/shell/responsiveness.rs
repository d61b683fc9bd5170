//! What clients of the responsiveness test find at a server (draft-ietf-ippm-responsiveness, "Responsiveness under
//! Working Conditions"): its configuration, a small object and one that no test reaches the end of.

use super::content::{Body, Content, json};
use hyper::Response;

/// Where the configuration is; the objects are below.
const CONFIGURATION: &str = "/.well-known/nq";
/// One byte.
const SMALL: &str = "/1";
/// At least 8 GB.
const LARGE: &str = "/10G";

/// The answer to a request for one of them; none if the path is another.
pub(super) fn get(path: &str) -> Option<Response<Body>> {
    match path.strip_prefix(CONFIGURATION)? {
        "" => Some(json(configuration())),
        object @ (SMALL | LARGE) => Some(Content::Sizes.get(object)),
        _ => None,
    }
}

/// The names of the present draft, and those of before 2023, which some clients still read.
fn configuration() -> String {
    let url = |object: &str| format!("https://server{CONFIGURATION}{object}");
    let (small, large, upload) = (url(SMALL), url(LARGE), url("/upload"));
    serde_json::json!({
        "version": 1,
        "urls": {
            "small_download_url": small,
            "large_download_url": large,
            "upload_url": upload,
            "small_https_download_url": small,
            "large_https_download_url": large,
            "https_upload_url": upload,
        },
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::Body as _;
    use serde_json::Value;

    #[test]
    fn the_configuration_names_objects_that_are_there() {
        let configuration: Value = serde_json::from_str(&configuration()).expect("JSON");
        assert_eq!(configuration["version"], 1);
        for (names, size) in [
            (["small_download_url", "small_https_download_url"], 1),
            (
                ["large_download_url", "large_https_download_url"],
                10_000_000_000,
            ),
        ] {
            for name in names {
                let url = configuration["urls"][name].as_str().expect(name);
                let path = url.strip_prefix("https://server").expect("the server's");
                let object = get(path).expect("an object");
                assert_eq!(object.body().size_hint().exact(), Some(size), "{name}");
            }
        }
        assert!(get("/.well-known/nq").is_some());
        for other in ["/", "/1", "/.well-known/nq/2", "/.well-known/other"] {
            assert!(get(other).is_none(), "{other}");
        }
    }
}
