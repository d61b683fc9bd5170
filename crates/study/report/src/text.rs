//! Numbers and foreign text, made fit to be shown.

/// A number with four significant digits and at most three decimals: `0.125`, `12.34`, `1234`.
/// What is not finite is shown as a dash.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let magnitude = value.abs();
    let decimals = if magnitude >= 999.95 {
        0
    } else if magnitude >= 99.995 {
        1
    } else if magnitude >= 9.9995 {
        2
    } else {
        3
    };
    let text = format!("{value:.decimals$}");
    // "-0.000" is a zero
    if text.trim_start_matches(['-', '0', '.']).is_empty() && text.starts_with('-') {
        text[1..].to_owned()
    } else {
        text
    }
}

/// A tick or a tooltip's number: as [`number`], without trailing zeros.
pub(crate) fn tick(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude > 0.0 && magnitude < 0.001 {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text for HTML, within an element or a quoted attribute. Control characters, which HTML does
/// not allow even when escaped, become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text for a terminal: control characters, which could move its cursor or colour it, become
/// U+FFFD, so that a name out of a scenario file cannot do so.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in [
            (0.0, "0.000"),
            (-0.0001, "0.000"),
            (0.12345, "0.123"),
            (1.23456, "1.235"),
            (12.3456, "12.35"),
            (123.456, "123.5"),
            (1234.56, "1235"),
            (999.96, "1000"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn ticks_lose_trailing_zeros() {
        assert_eq!(tick(0.5), "0.5");
        assert_eq!(tick(20.0), "20");
        assert_eq!(tick(0.0), "0");
        assert_eq!(tick(0.0002), "2e-4");
    }

    #[test]
    fn markup_in_names_is_only_text() {
        assert_eq!(
            escape("<script>alert('x')</script> & \"y\"\u{1b}"),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;\u{fffd}"
        );
        assert_eq!(printable("a\u{1b}[31mb"), "a\u{fffd}[31mb");
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_markup(text in ".*") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
        }
    }
}
