//! Copies of a fold: one is made whenever reports are folded again, into the memory of the one that it replaces.

use super::Fold;

impl Clone for Fold {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Copies into the memory that is there.
    fn clone_from(&mut self, other: &Self) {
        let Self {
            totals,
            agents,
            tools,
            unpriced,
            recent,
            tags,
            results,
            items,
            tallies,
            warnings,
            control,
            queries,
            speech,
            told,
            notes,
            work,
            is_swarm,
        } = other;
        self.totals.clone_from(totals);
        self.agents.clone_from(agents);
        self.tools.clone_from(tools);
        self.unpriced.clone_from(unpriced);
        self.recent.clone_from(recent);
        self.tags.clone_from(tags);
        self.results.clone_from(results);
        self.items.clone_from(items);
        self.tallies.clone_from(tallies);
        self.warnings.clone_from(warnings);
        self.control.clone_from(control);
        self.queries.clone_from(queries);
        self.speech.clone_from(speech);
        self.told.clone_from(told);
        self.notes = *notes;
        self.work.clone_from(work);
        self.is_swarm = *is_swarm;
    }
}
