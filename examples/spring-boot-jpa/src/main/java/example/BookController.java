package example;

import java.util.List;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/books")
public class BookController {
    /** A book as the API shows it. */
    public record View(Long id, String title, String author, List<String> tags) {
        static View of(Book book) {
            return new View(book.getId(), book.getTitle(), book.getAuthor().getName(), book.getTags());
        }
    }

    private final Shelf shelf;
    private final Books books;

    BookController(Shelf shelf, Books books) {
        this.shelf = shelf;
        this.books = books;
    }

    @GetMapping
    List<View> all(@RequestParam(required = false) String tag) {
        return (tag == null ? books.findAllByOrderByTitle() : books.findByTag(tag)).stream().map(View::of).toList();
    }

    @PostMapping
    @ResponseStatus(HttpStatus.CREATED)
    View add(@RequestBody View given) {
        return View.of(shelf.add(given.title(), given.author(), given.tags() == null ? List.of() : given.tags()));
    }

    @ExceptionHandler(DataIntegrityViolationException.class)
    @ResponseStatus(HttpStatus.CONFLICT)
    void twice() {}
}
