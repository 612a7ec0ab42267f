//! Tells a failure of one site among many from one of the agent's own way to all of them.

use super::Fold;
use super::judge::Judged;
use super::outcome::Outcome;

impl Fold {
    /// Whether a failure that does not pass by itself is that of one site among many: each call of the tool since one brought
    /// something new asks another site.
    pub(super) fn fails_at_sites(&self, judged: &Judged<'_>) -> bool {
        if judged.transient {
            return false;
        }
        let mut sites: Vec<&str> = site_of(judged.call.input.sample()).into_iter().collect();
        let newest = self.recent.iter().rev();
        for mark in newest.filter(|mark| mark.tool == judged.tool_hash) {
            if mark.outcome == Outcome::Fresh {
                return !sites.is_empty();
            }
            match site_of(&mark.sample) {
                Some(site) if !sites.is_empty() && !sites.contains(&site) => sites.push(site),
                _ => return false,
            }
        }
        false
    }
}

/// The site of the first address in a sample of arguments.
fn site_of(sample: &str) -> Option<&str> {
    let (_, address) = sample.split_once("://")?;
    let end = address.find(['/', '?', '#', '"', '\\', ' ']);
    Some(&address[..end.unwrap_or(address.len())]).filter(|site| !site.is_empty())
}

#[cfg(test)]
mod tests {
    use super::site_of;

    #[test]
    fn sites() {
        for (sample, expected) in [
            (r#"{"url":"https://a.example/b?c=d"}"#, Some("a.example")),
            (r#"{"url":"http://a.example:8080"}"#, Some("a.example:8080")),
            (
                r#"{"command":"curl -s https://b.example#x"}"#,
                Some("b.example"),
            ),
            (r#"{"path":"a.example"}"#, None),
            ("https://", None),
        ] {
            assert_eq!(site_of(sample), expected, "{sample}");
        }
    }
}
