package example;

import java.util.Optional;
import org.springframework.data.jpa.repository.JpaRepository;

public interface Authors extends JpaRepository<Author, Long> {
    Optional<Author> findByName(String name);
}
