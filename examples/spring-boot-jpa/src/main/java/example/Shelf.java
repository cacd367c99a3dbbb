package example;

import java.util.List;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
public class Shelf {
    private final Authors authors;
    private final Books books;

    Shelf(Authors authors, Books books) {
        this.authors = authors;
        this.books = books;
    }

    /** Stores a book, and its author if there is none of this name. */
    @Transactional
    public Book add(String title, String name, List<String> tags) {
        Author author = authors.findByName(name).orElseGet(() -> authors.save(new Author(name)));
        return books.saveAndFlush(new Book(title, author, tags));
    }
}
