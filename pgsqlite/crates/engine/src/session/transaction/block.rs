//! Where a session's transaction stands, as its client's messages decide it: PostgreSQL's transaction blocks.
//!
//! The stage is private. Only the transitions below change it, and each of them says for every stage what comes of it, so that
//! an error can not be remembered beyond the Sync (or the end of the query string) that answers for it.

use crate::session::TransactionStatus;

/// The stage of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::session) struct Block(Stage);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// Nothing was begun since the last Sync, COMMIT or ROLLBACK.
    #[default]
    Idle,
    /// No BEGIN: what comes up to the Sync commits together.
    Implicit(Reach),
    /// The same after an error: the Sync rolls it back.
    Undone,
    /// After BEGIN.
    Open,
    /// After BEGIN and an error.
    Failed,
}

/// What may belong to an implicit transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// one statement, as far as is known
    Statement,
    /// an Execute has completed, and another one may follow before the Sync
    Pipeline,
    /// a query string of several statements
    Script,
}

/// What a Sync does to the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum AtSync {
    Commit,
    Rollback,
    /// BEGIN was said: the transaction goes on.
    Nothing,
}

impl Block {
    /// The client asks for work: outside BEGIN an implicit transaction begins with it.
    pub fn start(&mut self) {
        if self.0 == Stage::Idle {
            self.0 = Stage::Implicit(Reach::Statement);
        }
    }

    /// A statement of a query string begins. `several`: the string has more statements than this one.
    pub fn start_of_script(&mut self, several: bool) {
        match self.0 {
            Stage::Idle | Stage::Implicit(_) if several => self.0 = Stage::Implicit(Reach::Script),
            _ => self.start(),
        }
    }

    /// An Execute has completed without ending its transaction.
    pub fn executed(&mut self) {
        if matches!(self.0, Stage::Idle | Stage::Implicit(Reach::Statement)) {
            self.0 = Stage::Implicit(Reach::Pipeline);
        }
    }

    /// BEGIN.
    pub fn begin(&mut self) {
        self.0 = Stage::Open;
    }

    /// COMMIT or ROLLBACK, or a BEGIN that has failed: the block is over, what was done in it is the implicit transaction's.
    pub fn end(&mut self) {
        self.0 = Stage::Implicit(Reach::Statement);
    }

    /// ROLLBACK TO SAVEPOINT: a failed block goes on.
    pub fn resume(&mut self) {
        if self.0 == Stage::Failed {
            self.0 = Stage::Open;
        }
    }

    /// An error is reported. Returns whether an open block fails with it. After a Sync an error has nothing to fail.
    pub fn fail(&mut self) -> bool {
        let open = self.0 == Stage::Open;
        self.0 = match self.0 {
            Stage::Idle => Stage::Idle,
            Stage::Implicit(_) | Stage::Undone => Stage::Undone,
            Stage::Open | Stage::Failed => Stage::Failed,
        };
        open
    }

    /// Sync: an implicit transaction ends, and an error in it is forgotten.
    pub fn sync(&mut self) -> AtSync {
        let (next, does) = match self.0 {
            Stage::Idle | Stage::Implicit(_) => (Stage::Idle, AtSync::Commit),
            Stage::Undone => (Stage::Idle, AtSync::Rollback),
            stage @ (Stage::Open | Stage::Failed) => (stage, AtSync::Nothing),
        };
        self.0 = next;
        does
    }

    /// Whether BEGIN was said, and neither COMMIT nor ROLLBACK since.
    pub fn is_explicit(self) -> bool {
        matches!(self.0, Stage::Open | Stage::Failed)
    }

    /// Whether BEGIN was said, and no error has come since.
    pub fn is_open(self) -> bool {
        self.0 == Stage::Open
    }

    /// Whether an error has come since BEGIN.
    pub fn is_failed(self) -> bool {
        self.0 == Stage::Failed
    }

    /// Whether the statement is one of a query string of several.
    pub fn is_script(self) -> bool {
        self.0 == Stage::Implicit(Reach::Script)
    }

    /// Whether PostgreSQL calls it a transaction block: after BEGIN, or in a query string of several statements.
    pub fn is_block(self) -> bool {
        self.is_explicit() || self.is_script()
    }

    /// Whether another Execute has completed since the last Sync, outside a block.
    pub fn is_pipeline(self) -> bool {
        self.0 == Stage::Implicit(Reach::Pipeline)
    }

    /// What ReadyForQuery reports.
    pub fn status(self) -> TransactionStatus {
        match self.0 {
            Stage::Idle | Stage::Implicit(_) | Stage::Undone => TransactionStatus::Idle,
            Stage::Open => TransactionStatus::InTransaction,
            Stage::Failed => TransactionStatus::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All transitions, by a number.
    fn step(block: &mut Block, n: usize) {
        match n {
            0 => block.start(),
            1 => block.start_of_script(true),
            2 => block.start_of_script(false),
            3 => block.executed(),
            4 => block.begin(),
            5 => block.end(),
            6 => block.resume(),
            7 => drop(block.fail()),
            _ => drop(block.sync()),
        }
    }

    /// Every sequence of up to five transitions: after a Sync nothing is left of an error, unless a block has failed.
    #[test]
    fn an_error_does_not_outlive_a_sync() {
        for code in 0..9usize.pow(5) {
            let mut block = Block::default();
            let mut rest = code;
            for _ in 0..5 {
                step(&mut block, rest % 9);
                rest /= 9;
            }
            block.sync();
            if !block.is_explicit() {
                assert_eq!(block, Block::default(), "{code}");
                // the error of the Sync itself is reported after it
                block.fail();
                assert_eq!(block.sync(), AtSync::Commit, "{code}");
            }
        }
    }

    #[test]
    fn an_error_undoes_what_came_before_it() {
        let mut block = Block::default();
        block.start();
        block.executed();
        assert!(block.is_pipeline() && !block.is_block());
        assert!(!block.fail());
        assert_eq!(block.sync(), AtSync::Rollback);
        block.start();
        block.begin();
        assert!(block.fail());
        assert!(!block.fail());
        assert_eq!(block.sync(), AtSync::Nothing);
        assert_eq!(block.status(), TransactionStatus::Failed);
        block.resume();
        assert_eq!(block.status(), TransactionStatus::InTransaction);
    }
}
