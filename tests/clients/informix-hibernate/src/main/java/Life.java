import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Hibernate with its Informix dialect: the schema, entities, and queries in HQL. Nothing here but what the dialect promises. */
public class Life {
  @Entity(name = "Author") @Table(name = "author")
  public static class Author {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @Column(length = 40, nullable = false) String name;
    LocalDate born;
    @Version int version;
    @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true) List<Book> books = new ArrayList<>();
    @ElementCollection @CollectionTable(name = "author_tag") Set<String> tags = new HashSet<>();
  }

  public enum Kind { PAPER, SCREEN }

  @Embeddable
  public static class Price { BigDecimal amount; @Column(length = 3) String currency; }

  @Entity(name = "Book") @Table(name = "book")
  public static class Book {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "books") @SequenceGenerator(name = "books", sequenceName = "book_numbers", allocationSize = 5) Long id;
    @ManyToOne(optional = false) Author author;
    @Column(length = 60) String title;
    @Embedded Price price;
    @Enumerated(EnumType.STRING) @Column(length = 10) Kind kind;
    boolean sold;
    LocalDateTime added;
    @Lob byte[] cover;
    Integer stars;
  }

  @Entity(name = "Animal") @Table(name = "animal") @Inheritance(strategy = InheritanceType.JOINED)
  public static class Animal { @Id @GeneratedValue(strategy = GenerationType.TABLE) Long id; @Column(length = 20) String name; }

  @Entity(name = "Dog") @Table(name = "dog")
  public static class Dog extends Animal { int barks; }

  static int checks;

  static void same(Object got, Object want) {
    checks++;
    if (!Objects.equals(got, want)) throw new AssertionError("check " + checks + ": got " + got + ", want " + want);
  }

  static Configuration configuration(String ddl) {
    Configuration c = new Configuration();
    for (Class<?> k : List.of(Author.class, Book.class, Animal.class, Dog.class)) c.addAnnotatedClass(k);
    c.setProperty("hibernate.connection.driver_class", "com.informix.jdbc.IfxDriver");
    c.setProperty("hibernate.connection.url", "jdbc:informix-sqli://127.0.0.1:" + System.getenv("SQLI_PORT") + "/main:INFORMIXSERVER=x");
    c.setProperty("hibernate.connection.username", "informix"); c.setProperty("hibernate.connection.password", "in4mix");
    c.setProperty("hibernate.dialect", "org.hibernate.community.dialect.InformixDialect");
    c.setProperty("hibernate.hbm2ddl.auto", ddl); c.setProperty("hibernate.hbm2ddl.halt_on_error", String.valueOf(!ddl.equals("drop")));
    c.setProperty("hibernate.jdbc.batch_size", "10");
    return c;
  }

  static Object one(Session s, String hql) { return s.createSelectionQuery(hql, Object.class).getSingleResult(); }

  static List<?> all(Session s, String hql) { return s.createSelectionQuery(hql, Object.class).getResultList(); }

  public static void main(String[] args) {
    java.util.logging.LogManager.getLogManager().reset();
    try (SessionFactory f = configuration("create-only").buildSessionFactory()) { life(f); }
    try (SessionFactory f = configuration("validate").buildSessionFactory()) { same(f.isOpen(), true); }
    try (SessionFactory f = configuration("drop").buildSessionFactory()) { f.getSchemaManager().dropMappedObjects(false); }
    System.out.println("ok: " + checks + " checks");
  }

  static void life(SessionFactory f) {
    LocalDateTime moment = LocalDateTime.of(2026, 1, 2, 3, 4, 5);
    // numbers from a table are taken on a connection of their own: the file has one writer, so nothing may be written before
    f.inTransaction(s -> { Dog d = new Dog(); d.name = "Rex"; d.barks = 7; s.persist(d); Animal a = new Animal(); a.name = "Cat"; s.persist(a); });
    f.inTransaction(s -> {
      Author ann = new Author(); ann.name = "Ann"; ann.born = LocalDate.of(1970, 1, 2); ann.tags.addAll(List.of("x", "y"));
      Author bob = new Author(); bob.name = "Bob m";
      for (int i = 0; i < 12; i++) {
        Book b = new Book(); b.title = "Title " + i; b.author = i % 3 == 0 ? bob : ann; b.kind = i % 2 == 0 ? Kind.PAPER : Kind.SCREEN; b.sold = i == 3; b.added = moment.plusDays(i);
        b.price = new Price(); b.price.amount = new BigDecimal(i).movePointLeft(1); b.price.currency = "EUR"; b.cover = new byte[] {1, (byte) i}; b.stars = i < 6 ? i : null;
        b.author.books.add(b);
      }
      s.persist(ann); s.persist(bob);
    });
    f.inTransaction(s -> {
      Author ann = (Author) one(s, "from Author a join fetch a.books where a.name = 'Ann'");
      same(ann.books.size(), 8); same(ann.tags, Set.of("x", "y")); same(ann.born, LocalDate.of(1970, 1, 2)); same(ann.version, 0);
      Book b = s.createSelectionQuery("from Book where title = :t", Book.class).setParameter("t", "Title 3").getSingleResult();
      same(b.sold, true); same(b.kind, Kind.SCREEN); same(b.price.amount.compareTo(new BigDecimal("0.3")), 0); same(b.added, moment.plusDays(3)); same(Arrays.toString(b.cover), "[1, 3]"); same(b.author.name, "Bob m");
      b.title = "New"; s.remove(ann.books.get(0)); ann.books.remove(0);
    });
    f.inTransaction(s -> {
      same(one(s, "select count(*) from Book"), 11L); same(one(s, "select title from Book where sold = true"), "New");
      same(s.createSelectionQuery("from Book order by id", Book.class).setFirstResult(2).setMaxResults(3).getResultList().size(), 3);
      same(all(s, "select a.name, count(b) from Author a left join a.books b group by a.name order by a.name").size(), 2);
      same(all(s, "from Author a where exists (select 1 from Book b where b.author = a and b.sold = true)").size(), 1);
      same(one(s, "select max(price.amount) from Book").toString().startsWith("1.1"), true);
      same(all(s, "from Book where added between :a and :b".replace(":a", "{ts '2026-01-03 00:00:00'}").replace(":b", "{ts '2026-01-05 23:59:59'}")).size() > 0, true);
      same(all(s, "from Animal order by name").size(), 2); same(((Dog) one(s, "from Dog")).barks, 7);
      // what the listener did not have
      same(one(s, "select locate('m', name) from Author where name = 'Bob m'"), 5);
      same(one(s, "select position('m' in name) from Author where name = 'Bob m'"), 5);
      same(one(s, "select left(name, 2) from Author where name = 'Ann'"), "An"); same(one(s, "select right(name, 2) from Author where name = 'Ann'"), "nn");
      same(one(s, "select upper(substring(name, 1, 2)) from Author where name = 'Ann'"), "AN"); same(one(s, "select trim(both 'A' from name) from Author where name = 'Ann'"), "nn");
      same(one(s, "select overlay(name placing 'x' from 2 for 1) from Author where name = 'Ann'"), "Axn");
      same(one(s, "select length(name) + 1 from Author where name = 'Ann'"), 4); same(one(s, "select coalesce(max(stars), 0) from Book where stars is null"), 0);
      same(one(s, "select case when stars > 3 then 'much' else 'little' end from Book where stars = 5"), "much");
      same(one(s, "select year(added) from Book where title = 'New'"), 2026); same(one(s, "select day(added) from Book where title = 'New'"), 5);
      same(one(s, "select current_date from Author where name = 'Ann'") != null, true); same(one(s, "select local time from Author where name = 'Ann'") != null, true);
      same(all(s, "select title from Book order by stars desc nulls last, title").get(0), "Title 5"); same(all(s, "select stars from Book order by stars nulls first").get(0), null);
      same(all(s, "select row_number() over (order by title) from Book").size(), 11); same(all(s, "select title, sum(stars) over (partition by author) from Book order by title").size(), 11);
      same(all(s, "select name from Author where name like 'B%' or name in ('Ann')").size(), 2);
      // in bulk
      same(s.createMutationQuery("update Book set stars = 9 where stars is null").executeUpdate() > 0, true);
      same(s.createMutationQuery("delete from Book where stars = 0 or title = 'Title 11'").executeUpdate() > 0, true);
      // rows that are locked, and constraints by their names
      same(s.find(Author.class, one(s, "select min(id) from Author"), LockModeType.PESSIMISTIC_WRITE) != null, true);
    });
    try { f.inTransaction(s -> s.persist(new Author())); same("stored", "refused"); } catch (PersistenceException e) { same(true, true); }
    // a version that another session has changed
    Author[] stale = new Author[1];
    f.inTransaction(s -> stale[0] = (Author) one(s, "from Author where name = 'Ann'"));
    f.inTransaction(s -> ((Author) one(s, "from Author where name = 'Ann'")).born = null);
    stale[0].name = "Other";
    try { f.inTransaction(s -> s.merge(stale[0])); same("merged", "refused"); } catch (OptimisticLockException e) { same(true, true); }
  }
}
