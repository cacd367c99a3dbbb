package example;

import java.util.List;
import org.springframework.data.jpa.repository.EntityGraph;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Query;

public interface Books extends JpaRepository<Book, Long> {
    @EntityGraph(attributePaths = "author")
    List<Book> findAllByOrderByTitle();

    @EntityGraph(attributePaths = "author")
    @Query("select b from Book b where array_contains(b.tags, :tag) order by b.title")
    List<Book> findByTag(String tag);
}
