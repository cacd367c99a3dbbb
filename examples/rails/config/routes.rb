Rails.application.routes.draw do
  resources :books, only: %i[index create]
  resources :authors, only: %i[destroy]
end
