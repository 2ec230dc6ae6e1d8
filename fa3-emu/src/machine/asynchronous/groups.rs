//! Which asynchronous operations of a thread or a warp a `wait_group` waits for.

use std::collections::VecDeque;

/// The bulk groups of a thread (PTX ISA, "cp.async.bulk.commit_group", "cp.async.bulk.wait_group").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct BulkGroups {
    committed: u64,
    /// The group and the instruction of each copy that no wait has known to be read.
    unread: Vec<(u64, usize)>,
}

impl BulkGroups {
    /// A copy begins at instruction `pc`. The number of its group.
    pub(super) fn begin(&mut self, pc: usize) -> u64 {
        self.unread.push((self.committed, pc));
        self.committed
    }

    /// What has begun since the last is a group.
    pub(super) fn commit(&mut self) {
        self.committed += 1;
    }

    /// The number below which a wait wants every group to be done, if it leaves `pending`.
    pub(super) fn wanted(&self, pending: u32) -> u64 {
        self.committed.saturating_sub(pending.into())
    }

    /// A wait has found all groups below `number` to have read their sources.
    pub(super) fn found(&mut self, number: u64) {
        self.unread.retain(|&(group, _)| group >= number);
    }

    /// The instruction of a copy that no wait has known to be read.
    pub(super) fn unread(&self) -> Option<usize> {
        self.unread.first().map(|&(_, pc)| pc)
    }
}

/// The groups of products of a warp (PTX ISA, "wgmma.commit_group", "wgmma.wait_group").
///
/// Products are numbered in the order in which the warpgroup issues them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct ProductGroups {
    /// For each group that no wait has found complete, how many products were issued until its end.
    ends: VecDeque<u64>,
    /// Products that a wait has found complete.
    found: u64,
}

impl ProductGroups {
    /// What was issued since the last is a group, `issued` products in all.
    pub(super) fn commit(&mut self, issued: u64) {
        self.ends.push_back(issued);
    }

    /// How many products a wait wants to be complete, if it leaves `pending` groups.
    pub(super) fn wanted(&self, pending: u32) -> u64 {
        let done = self.ends.len().saturating_sub(pending as usize);
        done.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }

    /// A wait that leaves `pending` groups is over.
    pub(super) fn found(&mut self, pending: u32) {
        self.found = self.found.max(self.wanted(pending));
        self.ends.drain(..self.ends.len().saturating_sub(pending as usize));
    }

    /// Products, of those of the warpgroup, that a wait has found complete.
    pub(super) const fn complete(&self) -> u64 {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_wants_all_bulk_groups_but_the_last() {
        let mut groups = BulkGroups::default();
        assert_eq!(groups.begin(10), 0);
        groups.commit();
        assert_eq!((groups.begin(11), groups.begin(12)), (1, 1));
        groups.commit();
        assert_eq!(groups.begin(13), 2);
        assert_eq!([0, 1, 2, 3].map(|pending| groups.wanted(pending)), [2, 1, 0, 0]);
        groups.found(groups.wanted(1));
        assert_eq!(groups.unread(), Some(11));
        groups.found(groups.wanted(0));
        assert_eq!(groups.unread(), Some(13), "in no group yet");
        groups.commit();
        groups.found(groups.wanted(0));
        assert_eq!(groups.unread(), None);
    }

    #[test]
    fn a_wait_wants_all_products_but_those_of_the_last_groups() {
        let mut groups = ProductGroups::default();
        assert_eq!((groups.wanted(0), groups.complete()), (0, 0));
        groups.commit(4);
        groups.commit(4);
        groups.commit(9);
        assert_eq!([0, 1, 2, 3].map(|pending| groups.wanted(pending)), [9, 4, 4, 0]);
        groups.found(1);
        assert_eq!((groups.wanted(1), groups.wanted(0), groups.complete()), (0, 9, 4));
        groups.found(0);
        assert_eq!((groups.wanted(0), groups.complete()), (0, 9));
    }
}
