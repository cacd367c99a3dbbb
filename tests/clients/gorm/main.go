// GORM: AutoMigrate (twice, the second reads the catalogs; then with changed models), associations, queries, upserts, transactions.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/datatypes"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func same(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %#v, want %#v", got, want))
	}
}

type Maker struct {
	ID        uint   `gorm:"primaryKey"`
	Name      string `gorm:"size:40;uniqueIndex;not null;comment:its name"`
	Things    []Thing
	CreatedAt time.Time
	UpdatedAt time.Time
}

type Label struct {
	Text string `gorm:"primaryKey"`
}

type Thing struct {
	gorm.Model
	MakerID *uint   `gorm:"index:by_maker,priority:1"`
	Maker   *Maker  `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL"`
	Title   string  `gorm:"index:by_maker,priority:2,sort:desc;check:title_given,title <> ''"`
	Price   float64 `gorm:"type:numeric(10,2);default:0"`
	Amount  int64
	Small   int16
	Active  *bool `gorm:"default:true"`
	Made    datatypes.Date
	At      *time.Time     `gorm:"precision:6"`
	Extra   datatypes.JSON `gorm:"type:jsonb;default:'{}'"`
	Raw     []byte
	UID     string  `gorm:"type:uuid;default:gen_random_uuid()"`
	Labels  []Label `gorm:"many2many:thing_labels"`
}

type changedMaker struct {
	ID        uint   `gorm:"primaryKey"`
	Name      string `gorm:"size:80;uniqueIndex;not null"`
	Code      string `gorm:"size:3;default:'x'"`
	CreatedAt time.Time
	UpdatedAt time.Time
}

func (changedMaker) TableName() string { return "makers" }

func main() {
	dsn := fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable TimeZone=UTC", os.Getenv("PGHOST"), os.Getenv("PGPORT"), os.Getenv("PGUSER"), os.Getenv("PGDATABASE"))
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	must(err)
	must(db.AutoMigrate(&Maker{}, &Label{}, &Thing{}))
	must(db.AutoMigrate(&Maker{}, &Label{}, &Thing{}))
	m := db.Migrator()
	same([]bool{m.HasTable("makers"), m.HasTable(&Thing{}), m.HasTable("nothing"), m.HasColumn(&Thing{}, "Price"), m.HasIndex(&Thing{}, "by_maker"), m.HasConstraint(&Thing{}, "title_given"), m.HasConstraint(&Thing{}, "fk_makers_things")}, []bool{true, true, false, true, true, true, true})
	tables, err := m.GetTables()
	must(err)
	same(len(tables), 4)
	types, err := m.ColumnTypes(&Thing{})
	must(err)
	described := map[string]string{}
	for _, c := range types {
		full, _ := c.ColumnType()
		nullable, _ := c.Nullable()
		value, _ := c.DefaultValue()
		primary, _ := c.PrimaryKey()
		described[c.Name()] = fmt.Sprint(c.DatabaseTypeName(), " ", full, " ", nullable, " ", value, " ", primary)
	}
	same([]string{described["id"], described["price"], described["extra"], described["active"], described["uid"], described["raw"]},
		[]string{"int8 bigint false  true", "numeric numeric(10,2) true 0 false", "jsonb jsonb true {} false", "bool boolean true true false", "uuid uuid true gen_random_uuid() false", "bytea bytea true  false"})
	indexes, err := m.GetIndexes(&Maker{})
	must(err)
	same(len(indexes), 1)

	at := time.Date(2024, 1, 2, 3, 4, 5, 678900000, time.UTC)
	acme := Maker{Name: "acme", Things: []Thing{{Title: "Anvil", Price: 12.5, Amount: 1 << 40, Small: -3, At: &at, Made: datatypes.Date(at), Extra: datatypes.JSON(`{"a": [1, null], "s": "it's"}`), Raw: []byte{0, 255}, Labels: []Label{{"hot"}, {"new"}}}}}
	must(db.Create(&acme).Error)
	same([]uint{acme.ID, acme.Things[0].ID}, []uint{1, 1})
	var one Thing
	must(db.Preload("Maker").Preload("Labels", func(d *gorm.DB) *gorm.DB { return d.Order("text") }).First(&one, "title = ?", "Anvil").Error)
	same([]any{one.Maker.Name, one.Price, one.Amount, one.Small, *one.Active, one.At.UTC(), string(one.Extra), one.Raw, one.Labels, len(one.UID)}, []any{"acme", 12.5, int64(1) << 40, int16(-3), true, at, `{"a": [1, null], "s": "it's"}`, []byte{0, 255}, []Label{{"hot"}, {"new"}}, 36})
	bolt := Maker{Name: "bolt"}
	must(db.Create(&bolt).Error)
	things := make([]Thing, 250)
	for i := range things {
		things[i] = Thing{Title: fmt.Sprint("t", i), Price: float64(i), MakerID: &bolt.ID, Extra: datatypes.JSON(fmt.Sprintf(`{"n": %d}`, i)), Made: datatypes.Date(at.AddDate(0, i%3, 0))}
	}
	must(db.CreateInBatches(things, 100).Error)
	same(things[249].ID, uint(251))
	var titles []string
	must(db.Model(&Thing{}).Where("price BETWEEN ? AND ?", 10, 12).Where(db.Where("title LIKE ?", "t%").Or("amount > ?", 5)).Order("price desc").Pluck("title", &titles).Error)
	same(titles, []string{"t12", "t11", "t10"})
	var n int64
	must(db.Model(&Thing{}).Where(datatypes.JSONQuery("extra").Equals(7, "n")).Count(&n).Error)
	same(n, int64(1))
	must(db.Model(&Thing{}).Where(datatypes.JSONQuery("extra").HasKey("s")).Count(&n).Error)
	same(n, int64(1))
	type row struct {
		Name string
		N    int
		S    float64
	}
	var rows []row
	must(db.Model(&Maker{}).Select("makers.name, count(t.id) AS n, coalesce(sum(t.price), 0) AS s").Joins("LEFT JOIN things t ON t.maker_id = makers.id AND t.deleted_at IS NULL").Group("makers.id").Having("count(t.id) > ?", 0).Order("makers.name").Scan(&rows).Error)
	same(rows, []row{{"acme", 1, 12.5}, {"bolt", 250, 31125}})
	var joined []Thing
	must(db.Joins("Maker").Where(`"Maker"."name" = ?`, "bolt").Order("things.id").Limit(2).Offset(1).Find(&joined).Error)
	same([]string{joined[0].Title, joined[1].Maker.Name}, []string{"t1", "bolt"})
	var sub []Maker
	must(db.Where("id IN (?)", db.Model(&Thing{}).Select("maker_id").Where("price > ?", 100)).Find(&sub).Error)
	same([]any{len(sub), sub[0].Name}, []any{1, "bolt"})
	seen := 0
	must(db.Where("price < ?", 25).FindInBatches(&[]Thing{}, 10, func(tx *gorm.DB, batch int) error { seen += int(tx.RowsAffected); return nil }).Error)
	same(seen, 26)
	same(db.Model(&Thing{}).Where("price < ? AND maker_id = ?", 5, bolt.ID).Updates(map[string]any{"amount": gorm.Expr("amount + ?", 1), "active": false}).RowsAffected, int64(5))
	var changed []Thing
	must(db.Model(&changed).Clauses(clause.Returning{Columns: []clause.Column{{Name: "title"}, {Name: "amount"}}}).Where("title = ?", "t1").Update("amount", gorm.Expr("amount * 10")).Error)
	same([]any{changed[0].Title, changed[0].Amount}, []any{"t1", int64(10)})
	must(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"updated_at"})}).Create(&[]Maker{{Name: "acme"}, {Name: "cog"}}).Error)
	must(db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Maker{Name: "cog"}).Error)
	var found Maker
	must(db.Where(Maker{Name: "dot"}).FirstOrCreate(&found).Error)
	must(db.Where(Maker{Name: "dot"}).FirstOrCreate(&found).Error)
	must(db.Model(&Maker{}).Count(&n).Error)
	same(n, int64(4))
	must(db.Model(&one).Association("Labels").Delete(Label{"new"}))
	same(db.Model(&one).Association("Labels").Count(), int64(1))
	must(db.Delete(&one).Error)
	same(errors.Is(db.First(&Thing{}, one.ID).Error, gorm.ErrRecordNotFound), true)
	must(db.Unscoped().First(&Thing{}, one.ID).Error)

	var pe *pgconn.PgError
	same(errors.Is(db.Create(&Maker{Name: "acme"}).Error, gorm.ErrDuplicatedKey), true)
	missing := uint(999)
	same(errors.Is(db.Create(&Thing{Title: "x", MakerID: &missing}).Error, gorm.ErrForeignKeyViolated), true)
	same(errors.Is(db.Create(&Thing{Title: ""}).Error, gorm.ErrCheckConstraintViolated), true)
	same(errors.As(db.Exec("SELECT nope").Error, &pe) && pe.Code == "42703", true)
	back := errors.New("back")
	same(db.Transaction(func(tx *gorm.DB) error {
		must(tx.Where("1 = 1").Delete(&Thing{}).Error)
		must(tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&Maker{}, 1).Error)
		same(tx.Transaction(func(inner *gorm.DB) error { must(inner.Create(&Maker{Name: "eel"}).Error); return back }), back)
		must(tx.SavePoint("one").Error)
		same(tx.Create(&Maker{Name: "acme"}).Error != nil, true)
		must(tx.RollbackTo("one").Error)
		must(tx.Model(&Maker{}).Count(&n).Error)
		same(n, int64(4))
		return back
	}), back)
	must(db.Model(&Thing{}).Count(&n).Error)
	same(n, int64(250))

	// the model changes: AutoMigrate alters the table
	must(db.AutoMigrate(&changedMaker{}))
	must(db.AutoMigrate(&changedMaker{}))
	var changedOne changedMaker
	must(db.First(&changedOne, "name = ?", "acme").Error)
	same(changedOne.Code, "x")
	must(m.RenameColumn(&changedMaker{}, "code", "short"))
	must(m.DropColumn(&changedMaker{}, "short"))
	must(m.DropIndex(&Thing{}, "by_maker"))
	must(m.DropConstraint(&Thing{}, "title_given"))
	must(m.RenameTable("labels", "tags"))
	must(m.DropTable("thing_labels", "tags", &Thing{}, &Maker{}))
	tables, err = m.GetTables()
	must(err)
	same(len(tables), 0)
	fmt.Println("ok")
}
