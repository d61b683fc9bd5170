//! The queries of the dashboard and the alerts.

use serde_json::Value;

/// A query with its place.
#[derive(Clone, Debug)]
pub struct Query {
    /// Panel, variable or alert.
    #[allow(dead_code, reason = "shown when a query has no data")]
    pub place: String,
    pub text: String,
}

/// All queries of panels and variables, with Grafana's variables replaced as Grafana would.
pub fn of_dashboard(json: &str) -> Vec<Query> {
    let dashboard: Value = serde_json::from_str(json).expect("JSON");
    let mut queries = Vec::new();
    panels(&dashboard["panels"], &mut queries);
    let variables = dashboard["templating"]["list"]
        .as_array()
        .expect("variables");
    for variable in variables.iter().filter(|v| v["type"] == "query") {
        let text = variable["query"]["query"].as_str().expect("a query");
        let inside = text.strip_prefix("label_values(").expect("label_values");
        let (selector, label) = inside.rsplit_once(", ").expect("a label");
        let label = label.strip_suffix(')').expect("an end");
        queries.push(Query {
            place: format!("variable {}", variable["name"]),
            text: format!("group by ({label}) ({selector})"),
        });
    }
    queries
}

fn panels(list: &Value, queries: &mut Vec<Query>) {
    for panel in list.as_array().into_iter().flatten() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let text = target["expr"].as_str().expect("an expression");
            let text = text
                .replace("$__rate_interval", "10s")
                .replace("$instance", ".*")
                .replace("$ue", ".*");
            assert!(!text.contains('$'), "an unknown variable: {text}");
            queries.push(Query {
                place: format!("panel {}", panel["title"]),
                text,
            });
        }
        panels(&panel["panels"], queries);
    }
}

/// Names of all alerts.
pub fn alert_names(rules: &str) -> Vec<&str> {
    let names = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.collect()
}

/// What each alert compares: its expression without the comparison, since nothing is wrong now.
pub fn of_alerts(rules: &str) -> Vec<Query> {
    let expressions = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "));
    let queries: Vec<Query> = alert_names(rules)
        .into_iter()
        .zip(expressions)
        .map(|(name, expression)| {
            let mut words = expression.rsplitn(3, ' ');
            let number = words.next().unwrap_or_default();
            let comparison = words.next().unwrap_or_default();
            assert!(number.parse::<f64>().is_ok(), "{expression}");
            assert!(["<", ">"].contains(&comparison), "{expression}");
            Query {
                place: format!("alert {name}"),
                text: words.next().expect("a value").to_owned(),
            }
        })
        .collect();
    assert_eq!(queries.len(), rules.matches("alert:").count());
    queries
}
