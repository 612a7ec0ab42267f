//! The table of prices that `normalize.prices_file` names. Mistakes in it are told like those of the configuration itself, with
//! their places in the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::checker::Checker;
use super::mistake::Mistakes;
use super::read::read;
use super::shape::Shape;
use super::tree::Node;
use crate::normalize::{Price, Prices};

/// The user's prices, or those that are built in.
pub(super) fn prices(shape: &Shape, check: &mut Checker<'_>) -> Arc<Prices> {
    let Some(path) = &shape.normalize.prices_file else {
        return Prices::built_in();
    };
    let key = ["normalize", "prices_file"];
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            check.wrong(&key, format!("`{path}` cannot be read: {error}"));
            return Prices::built_in();
        }
    };
    Arc::new(Prices::new(table(&text, path, check.mistakes)))
}

/// Model patterns and their prices, with all that is wrong with them.
fn table(text: &str, source: &str, mistakes: &mut Mistakes) -> BTreeMap<String, Price> {
    let tree = Node::parse(text, source, mistakes);
    let table: BTreeMap<String, Price> = read(&tree, None, &[], mistakes).unwrap_or_default();
    for (model, price) in &table {
        let prices = [
            ("input", Some(price.input)),
            ("cached", price.cached),
            ("output", Some(price.output)),
        ];
        for (name, price) in prices {
            if price.is_some_and(|price| price < 0.0) {
                mistakes
                    .0
                    .push(tree.mistake(&[model, name], "must be 0 or more"));
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(text: &str) -> Mistakes {
        let mut mistakes = Mistakes::default();
        table(text, "p.yaml", &mut mistakes);
        mistakes
    }

    /// Given mistakes in a table, each is named with its place, its key and what would be right.
    #[test]
    fn mistakes_have_their_places() {
        for (text, expected) in [
            (
                "gpt-x: {input: 1}\n",
                "p.yaml:1:1: gpt-x: needs the key `output`",
            ),
            (
                "a: {input: 1, output: 2}\nb: {inputs: 1, output: 2}\n",
                "p.yaml:2:5: b.inputs: unknown key; did you mean `input`?",
            ),
            (
                "a: {input: 1, output: many}\n",
                "p.yaml:1:15: a.output: expected a number, found `many`",
            ),
            (
                "a: {input: 1, cached: -1, output: 2}\n",
                "p.yaml:1:15: a.cached: must be 0 or more",
            ),
            (
                "a: 3\n",
                "p.yaml:1:1: a: expected a section with keys, found the number 3",
            ),
            ("a: {\n", "p.yaml:1:"),
        ] {
            let mistakes = mistakes(text).to_string();
            assert!(mistakes.starts_with(expected), "{mistakes}");
        }
        let built_in = include_str!("../../config/prices.yaml");
        assert_eq!(mistakes(built_in).to_string(), "");
    }
}
