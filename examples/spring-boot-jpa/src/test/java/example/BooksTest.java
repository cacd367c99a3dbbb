package example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.transaction.annotation.Transactional;

@SpringBootTest
@AutoConfigureMockMvc
class BooksTest {
    @Autowired private MockMvc http;
    @Autowired private Shelf shelf;
    @Autowired private Books books;

    private int add(String body) throws Exception {
        return http.perform(post("/books").contentType(MediaType.APPLICATION_JSON).content(body)).andReturn().getResponse().getStatus();
    }

    @Test
    void aBookIsAddedOnce() throws Exception {
        String letters = "{\"title\": \"Letters\", \"author\": \"Ada\", \"tags\": [\"poetry\"]}";
        assertThat(add(letters)).isEqualTo(201);
        assertThat(add(letters)).isEqualTo(409);
        http.perform(get("/books?tag=poetry")).andExpect(status().isOk()).andExpect(jsonPath("$[0].author").value("Ada"));
        http.perform(get("/books?tag=cooking")).andExpect(jsonPath("$.length()").value(0));
        books.deleteAll();
    }

    @Test
    @Transactional
    void aTestsTransactionIsRolledBack() {
        assertThat(books.count()).isZero();
        shelf.add("Notes", "Grace", List.of("machines"));
        assertThat(books.findByTag("machines")).extracting(Book::getTitle).containsExactly("Notes");
    }
}
