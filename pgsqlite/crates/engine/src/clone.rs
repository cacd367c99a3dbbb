//! Throw-away copies of a database, for tests: each begins with what was committed in its original, lives in a folder of its own, which
//! is memory where there is room, is never synced, and is gone with whoever holds it.
//!
//! The first clone makes an [`Image`]. As long as nothing is committed in the original, a clone is a copy of the image, and has its catalog.

use crate::config::{EngineConfig, Location};
use crate::engine::Engine;
use crate::image::{Image, Read};
use crate::sequence_state::Sequences;
use pgsqlite_storage::files::Room;
use pgsqlite_storage::in_memory::MemoryFolder;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

/// A larger original is copied anew for each clone: its image would take as much memory as a clone.
const LARGEST_IMAGE: u64 = 64 << 20;

impl Engine {
    /// Opens a new database that begins with what is committed here. It is gone, with its file, when it is dropped. It waits for the
    /// disk: not to be called on a thread with other tasks. Errors: 58030, 53100.
    pub fn open_clone(&self, database: &str) -> Result<Arc<Engine>> {
        let config = EngineConfig {
            location: Location::Memory,
            database: database.into(),
            databases: None,
            lease: false,
            ..EngineConfig::clone(&self.config)
        };
        let bytes = self.room.bytes()?;
        if bytes > LARGEST_IMAGE {
            let folder = MemoryFolder::with_room(bytes)?;
            self.copy_to(&folder.file())?;
            let read = Read::of(&Room::enter(&folder.file())?)?;
            return Engine::open_read(config, folder, read);
        }
        let (image, sequences) = self.image_and_sequences(bytes)?;
        // (a clone's sessions wait for nobody)
        self.writer.settle_all()?;
        let folder = MemoryFolder::with_room(bytes)?;
        let failed = |e| PgError::new(SqlState::IO_ERROR, format!("cannot copy the database \"{database}\": {e}"));
        image.room.copy_to(&folder.file()).map_err(failed)?;
        let clone = Engine::open_read(config, folder, image.read.clone())?;
        clone.continue_sequences(sequences);
        Ok(clone)
    }

    /// The state that is committed now, and where its sequences stand, which go on without a commit: nothing was committed between the two.
    fn image_and_sequences(&self, bytes: u64) -> Result<(Arc<Image>, Sequences)> {
        loop {
            let image = self.image(bytes)?;
            let sequences = self.standing_sequences();
            if image.mark.is_none() || image.mark == self.room.mark() {
                return Ok((image, sequences));
            }
        }
    }

    /// The state that is committed now.
    fn image(&self, bytes: u64) -> Result<Arc<Image>> {
        let mut kept = self.image.lock();
        // asked for before the copy is made: what is committed meanwhile makes it old
        let mark = self.room.mark();
        if let Some(image) = kept.as_ref().filter(|image| mark.is_some() && image.mark == mark) {
            return Ok(image.clone());
        }
        *kept = None;
        let folder = MemoryFolder::with_room(bytes)?;
        self.copy_to(&folder.file())?;
        let room = Room::enter(&folder.file())?;
        let image = Arc::new(Image { mark, read: Read::of(&room)?, room, _folder: folder });
        *kept = Some(image.clone());
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionOptions;

    async fn run(engine: &Arc<Engine>, statement: &str) -> String {
        let options = SessionOptions { user: "postgres".into(), database: "main".into(), ..Default::default() };
        let mut session = engine.session(options).unwrap();
        let mut script = session.script(statement).unwrap();
        let mut last = LastValue::default();
        while session.execute_script(&mut script, &mut last).await.unwrap().is_some() {}
        session.sync().await.unwrap();
        last.0
    }

    /// The first value of the last row.
    #[derive(Default)]
    struct LastValue(String);

    impl crate::session::RowSink for LastValue {
        fn columns(&mut self, _: &Arc<[crate::session::OutputColumn]>) -> Result<()> {
            Ok(())
        }
        fn row(
            &mut self,
            row: &dyn crate::session::Row,
            _: &pgsqlite_types::codec::Context,
        ) -> Result<crate::session::Flow> {
            self.0 = format!("{:?}", row.value(0));
            Ok(crate::session::Flow::Continue)
        }
    }

    fn files(engine: &Engine) -> std::path::PathBuf {
        engine.room.path().parent().unwrap().to_path_buf()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_clone_begins_with_what_is_committed_and_goes_with_its_holder() {
        let base = Engine::open(EngineConfig::new(Location::Memory, "base")).unwrap();
        run(&base, "CREATE TABLE t (i serial PRIMARY KEY, s text); INSERT INTO t (s) VALUES ('a'), ('b')").await;
        let one = base.open_clone("one").unwrap();
        let two = base.open_clone("two").unwrap();
        assert_eq!(run(&one, "INSERT INTO t (s) VALUES ('one') RETURNING i").await, "Int(3)");
        // what is committed later is in later clones only, and so are sequences' values and names of other clones
        run(&base, "SELECT nextval('t_i_seq'); CREATE VIEW v AS SELECT count(*) AS n FROM t").await;
        let three = base.open_clone("three").unwrap();
        run(&base, "SELECT nextval('t_i_seq')").await;
        let four = base.open_clone("four").unwrap();
        assert_eq!(run(&two, "SELECT count(*) FROM t").await, "Int(2)");
        assert_eq!(run(&three, "INSERT INTO t (s) VALUES ('three') RETURNING i").await, "Int(4)");
        assert_eq!(run(&four, "SELECT last_value FROM t_i_seq").await, "Int(4)");
        assert_eq!(run(&four, "INSERT INTO t (s) VALUES ('four') RETURNING i").await, "Int(5)");
        assert_eq!(run(&three, "SELECT n FROM v").await, "Int(3)");
        assert_eq!(run(&base, "SELECT n FROM v").await, "Int(2)");
        assert_eq!(run(&one, "SELECT count(*) FROM pg_class WHERE relname = 'v'").await, "Int(0)");
        assert!(run(&four, "SELECT current_database()").await.contains("main"));
        let folders: Vec<_> = [&one, &two, &three, &four].map(|engine| files(engine)).into();
        assert!(folders.iter().all(|folder| folder.is_dir()));
        drop((one, two, three, four));
        assert!(folders.iter().all(|folder| !folder.exists()));
        let image = base.image.lock().as_ref().unwrap().room.path().to_path_buf();
        assert!(image.is_file());
        drop(base);
        assert!(!image.exists());
    }

    /// Rows that are not stored in the file yet but in its log.
    #[tokio::test(flavor = "multi_thread")]
    async fn clones_are_made_while_others_write() {
        let base = Engine::open(EngineConfig::new(Location::Memory, "base")).unwrap();
        run(&base, "CREATE TABLE t (i int)").await;
        for i in 0..20 {
            run(&base, &format!("INSERT INTO t VALUES ({i})")).await;
            let clones: Vec<_> = std::thread::scope(|scope| {
                let made: Vec<_> = (0..4).map(|_| scope.spawn(|| base.open_clone("c").unwrap())).collect();
                made.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for clone in clones {
                assert_eq!(run(&clone, "SELECT count(*) FROM t").await, format!("Int({})", i + 1));
            }
        }
    }
}
