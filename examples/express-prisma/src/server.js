import { application } from './app.js';
import { connect } from './database.js';

const server = application(connect()).listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`http://localhost:${server.address().port}/books`);
});
