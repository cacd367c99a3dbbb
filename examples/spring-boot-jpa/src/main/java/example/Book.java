package example;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import java.time.OffsetDateTime;
import java.util.List;

@Entity
public class Book {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private Long id;

    @Column(nullable = false, columnDefinition = "text")
    private String title;

    @ManyToOne(optional = false)
    private Author author;

    @Column(nullable = false, columnDefinition = "text[]")
    private List<String> tags;

    @Column(nullable = false)
    private OffsetDateTime added = OffsetDateTime.now();

    protected Book() {}

    public Book(String title, Author author, List<String> tags) {
        this.title = title;
        this.author = author;
        this.tags = tags;
    }

    public Long getId() {
        return id;
    }

    public String getTitle() {
        return title;
    }

    public Author getAuthor() {
        return author;
    }

    public List<String> getTags() {
        return tags;
    }
}
